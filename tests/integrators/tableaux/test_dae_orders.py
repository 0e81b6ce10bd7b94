"""Orders by index against the published tables, and the reasons of refusal; the core's own tests measure them."""

import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import InputError
from daedalus.integrators.tableaux.collocation import lobatto_iiia
from daedalus.integrators.tableaux.dae_orders import DaeOrders, dae_orders


@pytest.mark.parametrize("stages", range(1, 8))
def test_radau_iia(stages):
    """Hairer, Lubich, Roche 1989: index 2 x 2s - 1, z s; index 3 positions s + 1, velocities s, multipliers s - 1."""
    T = dd.radau_iia(stages)
    assert dae_orders(T, 1).orders == {"x": 2 * stages - 1, "z": 2 * stages - 1}
    assert dae_orders(T, 2).orders == {"x": 2 * stages - 1, "z": stages}
    # One stage is implicit Euler: with constant steps its multipliers converge too.
    expected = {"q": stages + 1, "v": stages, "λ": stages - 1} if stages > 1 else {"q": 1, "v": 1, "λ": 1}
    assert dae_orders(T, 3).orders == expected


@pytest.mark.parametrize("stages", range(2, 7))
def test_lobatto_iiic(stages):
    T = dd.lobatto_iiic(stages)
    assert dae_orders(T, 1).orders == {"x": 2 * stages - 2, "z": 2 * stages - 2}
    assert dae_orders(T, 2).orders == {"x": 2 * stages - 2, "z": stages - 1}
    assert dae_orders(T, 3).is_refused == (stages == 2)


@pytest.mark.parametrize("stages", range(1, 7))
def test_gauss_solves_index_1_only(stages):
    T = dd.gauss_legendre(stages)
    assert dae_orders(T, 0).orders == {"x": 2 * stages}
    assert dae_orders(T, 1).orders == {"x": 2 * stages, "z": 2 * stages}
    what = "changes its sign in every step" if stages % 2 else "is carried from step to step"
    reason = f"R(∞) = {(-1) ** stages}: an error of z, and rounding is one, {what} and never decays"
    assert dae_orders(T, 2) == DaeOrders(2, None, reason)
    assert dae_orders(T, 3).reason == reason


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("implicit_euler", ["1", "1", "1", "1"]),
        ("trapezoidal", ["2", "2", "-", "-"]),
        ("sdirk2", ["2", "2", "x 2 z 1", "-"]),
        ("sdirk3", ["3", "3", "x 2 z 1", "-"]),
        ("sdirk4", ["4", "4", "x 2 z 1", "-"]),
        ("trbdf2", ["2", "2", "2", "-"]),
        ("rk4", ["4", "4", "-", "-"]),
        ("radau5", ["5", "5", "x 5 z 3", "q 4 v 3 λ 2"]),
    ],
)
def test_cells_of_the_list_of_methods(name, cells):
    assert [str(dae_orders(name, index)) for index in range(4)] == cells


def test_reasons():
    def because(T, index):
        found = dae_orders(T, index)
        assert found.is_refused
        return found.reason

    assert because("rk4", 2).startswith("it is explicit: no stage obeys a constraint")
    assert because("sdirk2", 3).startswith("its stage order is 1: multipliers are wrong by O(1) at the first step")
    assert because("trbdf2", 3).startswith("its first stage is explicit")
    assert because(lobatto_iiia(4), 2).startswith("R(∞) = -1")
    growing = dd.Tableau([["1/4"]], [1], ["1/4"])
    assert because(growing, 2) == "R(∞) = -3: an error of z, and rounding is one, grows with every step"
    assert because(dd.Tableau([[1]], [0.5], [1]), 1) == "the weights b do not sum to 1: no step size helps"
    twice = dd.Tableau([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5], [1, 1])
    assert because(twice, 2).startswith("A is singular beyond an explicit first stage")
    open_end = dd.Tableau([[0, 0], [0.25, 0.25]], [0.5, 0.5], [0, 0.5])
    assert because(open_end, 2).startswith("its first stage is explicit and it does not end in its last stage")


def test_radau_ia_does_not_end_in_its_last_stage():
    T = dd.Tableau([["1/4", "-1/4"], ["1/4", "5/12"]], ["1/4", "3/4"], [0, "2/3"])
    assert [dae_orders(T, index).orders for index in (1, 2)] == [{"x": 3, "z": 3}, {"x": 2, "z": 1}]


def test_an_index_beyond_3_is_refused():
    with pytest.raises(InputError) as caught:
        dae_orders("radau5", 4)
    assert str(caught.value).splitlines() == [
        "Orders are known for the indices 0 to 3.",
        "  index = 4",
        "  Because methods for a higher index would lose one more order with each, and none is offered.",
        "  Try: dd.reduce(m), which lowers the index.",
    ]


@pytest.mark.parametrize("name", [name for name in dd.tableau_names() if name not in ("rk2", "rk3")])
def test_every_tableau_that_can_run_is_a_method_with_the_orders_of_theory(name):
    method, T = dd.methods()[name], dd.tableau(name)
    assert (method.order, method.explicit, method.adaptive) == (T.order, T.is_explicit, adaptive(name, T))
    if not T.is_explicit:
        cells = [str(dae_orders(T, index)).replace("λ", "z").removeprefix("x ") for index in (1, 2, 3)]
        listed = [method.index_1, method.index_2, method.index_3]
        assert [cell.split()[-1] for cell in cells] == [cell.split()[-1] for cell in listed]
        refused = [index for index in (2, 3) if dae_orders(T, index).is_refused]
        assert method.highest_index == min(refused, default=4) - 1


def adaptive(name, T):
    return T.b_hat is not None or name.startswith("radau")


@pytest.mark.parametrize("name", [name for name in dd.tableau_names() if name not in ("rk2", "rk3")])
def test_every_tableau_runs_by_its_name_as_by_itself(name):
    m = dd.Model("oscillator")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x)
    by_name, by_itself = (dd.simulate(m, 1.0, method=method, step=0.05) for method in (name, dd.tableau(name)))
    assert by_name.method == name
    np.testing.assert_allclose(by_name["x"], by_itself["x"], rtol=0, atol=1e-12)
    if dd.methods()[name].adaptive:
        chosen = dd.simulate(m, 1.0, method=name, rtol=1e-5, atol=1e-7)
        assert chosen["x"][-1] == pytest.approx(np.cos(1.0), abs=1e-4)
    else:
        with pytest.raises(dd.InputError, match=f"The method '{name}' needs a step"):
            dd.simulate(m, 1.0, method=name)
