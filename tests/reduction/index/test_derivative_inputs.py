"""Inputs that a reduction differentiates and that are left open: their derivatives are inputs of the reduced model."""

import casadi as ca
import numpy as np
import pytest
from reduced_models import chain, text_of

import daedalus as dd
from daedalus import catalogue


def crane():
    """A load on a rope of length 1 below a trolley at x = u(t): the constraint contains the input."""
    m = dd.Model("crane")
    u = m.input("u", unit="m")
    q = m.coordinate("q", 2, start=[0.0, -1.0], rate=[0.6, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rope", (q[0] - u) ** 2 + q[1] ** 2 - 1)
    return m


def test_the_catalogue_entry_reduces_without_its_input():
    k = catalogue.load("nilpotent_3")
    n = dd.reduce(k.model)
    assert list(n.inputs) == ["u", "u_dot", "u_ddot", "u_dddot"]
    assert "input u differentiated 3 times" in str(n.reduction)
    assert dd.analyse(n).index <= 1
    assert dd.simulate(n, k.span, inputs=k.inputs).at(1.0)["x"] == pytest.approx([0, 0, -2])


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_the_exact_solution_of_the_chain(method):
    # x3 = u, x2 = u', x1 = u''.
    tr = dd.simulate(dd.reduce(chain()), 2.0, inputs={"u": lambda t: np.sin(3 * t)}, method=method)
    assert tr["x1"] == pytest.approx(-9 * np.sin(3 * tr.time), abs=1e-7)
    assert tr["x2"] == pytest.approx(3 * np.cos(3 * tr.time), abs=1e-7)
    assert tr["u_dot"] == pytest.approx(3 * np.cos(3 * tr.time), abs=1e-12)


@pytest.mark.parametrize("stabilise", ["projection", "baumgarte", None, "dummy_derivatives"])
def test_as_with_the_input_put_in_before(stabilise):
    m = crane()
    motion = 0.2 * ca.sin(3 * m.time)
    there = dd.simulate(dd.reduce(m, stabilise=stabilise, inputs={"u": motion}), 1.0, rtol=1e-9)
    late = dd.simulate(dd.reduce(m, stabilise=stabilise), 1.0, inputs={"u": motion}, rtol=1e-9)
    assert late["q"][-1] == pytest.approx(there["q"][-1], abs=1e-8)
    assert late["rope"][-1] == pytest.approx(there["rope"][-1], abs=1e-6)


def test_vectors_copies_and_files(tmp_path):
    m = dd.Model("follower")
    x, force, u = m.state("x", 2), m.algebraic("force", 2), m.input("u", 2)
    m.equation(m.der(m.der(x)), force)
    m.equation(x, u)
    n = dd.reduce(m).copy()
    tr = dd.simulate(n, 1.0, inputs={"u": lambda t: [np.sin(t), t**2]})
    assert tr["force"][-1] == pytest.approx([-np.sin(1.0), 2.0])
    tr.save(tmp_path / "run.nc")
    assert dd.load(tmp_path / "run.nc").at(0.5)["force"] == pytest.approx([-np.sin(0.5), 2.0])
    assert dd.simulate(n, 1.0, inputs={"u": [1.0, 2.0]})["x"][-1] == pytest.approx([1.0, 2.0])


def test_all_derivatives_may_be_given():
    n = dd.reduce(crane())
    given = {"u": lambda t: t**2, "u_dot": lambda t: 2 * t, "u_ddot": 2.0}
    by_hand = dd.simulate(n, 1.0, inputs=given)
    assert by_hand["q"][-1] == pytest.approx(dd.simulate(n, 1.0, inputs={"u": given["u"]})["q"][-1])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            dd.signal([0, 0.5, 1], [0, 1, 1], kind="linear"),
            "The input u is a linear table, and the model differentiates it",
        ),
        (dd.signal([0, 0.5], [0, 1]), "The input u is a held table, and the model differentiates it twice."),
        (lambda t: np.where(t > 0.5, 1.0, 0.0), "The input u jumps or has a kink, and the model differentiates it"),
    ],
)
def test_what_has_no_derivatives_is_refused(value, words):
    assert words in text_of(lambda: dd.simulate(dd.reduce(crane()), 1.0, inputs={"u": value}), dd.InputError)


def test_feedback_is_refused_with_the_way_out():
    n = dd.reduce(crane())
    text = text_of(lambda: dd.simulate(n, 1.0, inputs={"u": n["q"][0]}), dd.InputError)
    assert text.startswith("The input u depends on variables of the model, which differentiates it twice.")
    assert 'dd.reduce(m, inputs={"u": ...})' in text


def test_an_input_without_a_value_is_named():
    text = text_of(lambda: dd.simulate(dd.reduce(crane()), 1.0), dd.InputError)
    assert text.startswith("The input u is differentiated twice and has no value as a whole.")
