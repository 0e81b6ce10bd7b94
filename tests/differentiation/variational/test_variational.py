"""The variational equations as one right-hand side: what is stored, what a call costs, what the steps cost."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.differentiation.directions import read_directions
from daedalus.differentiation.variational.variational import Variational
from daedalus.simulation.plant.plants import plant_of


def variational(name, wrt, order=1, full=False, intervals=0):
    system = catalogue.load(name).model.freeze()
    return Variational(system, plant_of(system).form, read_directions(system, wrt, intervals), order, full)


def instructions(v):
    return ca.Function("rhs", v.arguments, [v.rhs]).n_instructions()


def test_zeros_by_structure_are_not_stored():
    v = variational("quadrotor", ("start", "inputs"))
    # Positions reach nothing, velocities positions only, and so on down to the angular velocity.
    assert v.layout.size - 13 == v.layout.first.sum() < 13 * 17
    known = catalogue.load("quadrotor")
    sens = dd.sensitivities(known.model, 2.0, wrt=("start", "inputs"), inputs=known.inputs)
    S = np.concatenate([sens.M, sens.N], axis=1)
    assert not np.any(S[~v.layout.first])


def test_the_cost_is_right_hand_side_jacobian_and_product():
    """Not one right-hand side a column: thirteen columns more cost a product with f_x each, not 13 times f."""
    system = catalogue.load("pleiades").model.freeze()
    form = plant_of(system).form
    plain = ca.Function("f", [system.symbol(k) for k in "txup"], [form.xdot]).n_instructions()
    jacobian = ca.Function("J", [system.symbol(k) for k in "txup"], [ca.jacobian(form.xdot, system.symbol("x"))])
    few = Variational(system, form, read_directions(system, ("x",), 0), 1, True)
    many = Variational(system, form, read_directions(system, ("start",), 0), 1, True)
    columns = many.directions.count - few.directions.count
    each = (instructions(many) - instructions(few)) / columns
    assert jacobian.nnz_out() * 2 <= each + 30 <= jacobian.nnz_out() * 2 + 90 < 2 * plain + jacobian.n_instructions()


@pytest.mark.parametrize("order", [1, 2])
def test_leaving_zeros_out_changes_nothing(order):
    sparse, full = (variational("cart_pendulum", ("start", "parameters"), order, full) for full in (False, True))
    draw = np.random.default_rng(3)
    n, m = sparse.layout.first.shape
    x, S, W = draw.normal(size=n), draw.normal(size=(n, m)), draw.normal(size=(n, len(sparse.pairs[0])))
    S[~sparse.layout.first], W[~sparse.layout.second] = 0.0, 0.0
    rest = (draw.normal(size=1), draw.normal(size=4))
    rates = []
    for v in (sparse, full):
        f = ca.Function("rhs", v.arguments, [v.rhs])
        y = f(0.0, v.layout.packed(x, S, W), *rest).full().T
        rates.append((v.layout.states(y), v.layout.sensitivities(y), v.layout.curvatures(y)))
    for one, other in zip(*rates):
        np.testing.assert_allclose(one, other, atol=1e-13)


def test_second_derivatives_are_stored_once():
    v = variational("quadrotor", ("start", "inputs"), order=2, full=True)
    assert v.layout.second.shape == (13, 17 * 18 // 2)


def test_state_and_sensitivities_share_one_error_test():
    """Where the sensitivities are harder than the states, they ask for more steps."""
    m = dd.Model("hidden spiral")
    x, k = m.state("x", start=0.0), m.parameter("k", 50.0)
    m.equation(m.der(x), x * (-1 + 0 * k) + ca.sin(k * x))
    states = dd.simulate(m, 1.0, rtol=1e-6)
    sens = dd.sensitivities(m, 1.0, wrt="start", rtol=1e-6)
    assert sens.states.work.steps > states.work.steps
    np.testing.assert_allclose(sens.M, [[np.exp(49.0)]], rtol=1e-3)


def test_work_is_counted_as_that_of_a_plain_run():
    known = catalogue.load("quadrotor")
    options = {"inputs": known.inputs, "rtol": 1e-8, "method": "dop853"}
    runs = [
        dd.sensitivities(known.model, known.span, wrt=("start", "inputs"), **options).states.work,
        dd.simulate(known.model, known.span, **options).work,
    ]
    # 12 calls a step, 11 where it is tried again, and those that find the first step.
    first = [work.rhs - 12 * work.steps - 11 * work.rejected for work in runs]
    assert first[0] == first[1] <= 2
    assert runs[0].steps < 100


def field(cells: int, numbers: int) -> dd.Model:
    """Diffusion and decay, with a rate of decay for every part of the rod."""
    m = dd.Model("rod")
    u = m.state("u", cells, start=np.sin(3 * np.arange(cells) / cells))
    rate = m.parameter("rate", np.linspace(0.5, 1.5, numbers), shape=numbers)
    decay = ca.vertcat(*(rate[i * numbers // cells] for i in range(cells)))
    m.equation(m.der(u), dd.laplacian(u, 0.1, "neumann") - decay * u)
    return m


def test_derivatives_of_a_field_are_those_of_its_differences():
    m, way = field(60, 12), {"method": "bdf", "rtol": 1e-8, "atol": 1e-10}
    sens = dd.sensitivities(m, 1.0, wrt=["rate"], **way)
    assert np.array_equal(sens.projector, np.eye(60))
    for k in (0, 7):
        values = np.linspace(0.5, 1.5, 12)
        ends = []
        for step in (1e-4, -1e-4):
            moved = values.copy()
            moved[k] += step
            ends.append(dd.simulate(m, 1.0, parameters={"rate": moved}, **way)["u"][-1])
        np.testing.assert_allclose(sens.d("u", "rate")[:, k], (ends[0] - ends[1]) / 2e-4, atol=1e-6)


def test_many_columns_of_a_field_are_written_in_one_go(monkeypatch):
    """Entry by entry, the columns of 300 cells by 40 numbers cost the square of their count."""
    written = []
    for method in ("__setitem__", "__getitem__"):
        kept = getattr(ca.SX, method)
        monkeypatch.setattr(ca.SX, method, lambda *given, kept=kept: written.append(None) or kept(*given))
    system = field(300, 40).freeze()
    written.clear()
    v = Variational(system, plant_of(system).form, read_directions(system, ["rate"], 0), 1, False)
    assert v.rhs.numel() == 300 * 41
    assert len(written) < 200
