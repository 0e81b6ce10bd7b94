"""`dd.reduce(m, tear=True)`: fewer algebraic unknowns, the same solution, every name still there."""

import casadi as ca
import numpy as np
import pytest
from reduced_models import pendulum

import daedalus as dd
from daedalus import catalogue
from daedalus.reduction.findings import TornUnknowns


def orifices(count):
    """A tank that empties through orifices in a row: pressures and flow are coupled and nonlinear."""
    m = dd.Model("orifices")
    h, q, p = m.state("h", start=4.0), m.algebraic("q", start=1.0), m.algebraic("p", count)
    m.equation(m.der(h), -q, name="tank")
    for k in range(count):
        m.equation(p[k], (p[k - 1] if k else h) - 0.01 * (k + 1) / count * q**2, name=f"orifice {k}")
    m.equation(q**2, p[count - 1], name="outlet")
    m.output("loss", h - p[count - 1])
    return m


def test_a_nonlinear_network_is_torn_to_its_flow():
    m = orifices(70)
    n = dd.reduce(m, tear=True)
    assert (m.freeze().sizes["z"], n.freeze().sizes["z"]) == (71, 1)
    assert n.reduction.algebraic == ("q",)
    assert n.reduction.findings == (TornUnknowns(71, ("q",)),)
    assert n.reduction.notes == ("71 algebraic unknowns torn to 1: q",)
    assert len(n.equations) == 2
    # At fixed step Newton's method goes on to rounding.
    one, two = (dd.simulate(k, 1.0, method="radau5", step=0.1) for k in (m, n))
    assert np.abs(two["p"] - one["p"]).max() < 1e-13
    assert np.abs(two["loss"] - one["loss"]).max() < 1e-13
    # h' = -q, h = q² (1 + Σ r): a parabola in time.
    total = 1 + sum(0.01 * (k + 1) / 70 for k in range(70))
    assert two["h"][-1] == pytest.approx((2.0 - 0.5 / np.sqrt(total)) ** 2, abs=1e-8)


def test_chains_of_aliases_collapse_and_names_survive():
    m = dd.Model("aliases")
    x, v = m.state("x", start=1.0), [m.algebraic(f"v{k}") for k in range(5)]
    m.equation(m.der(x), -v[4], name="decay")
    m.equation([v[0] - x, v[1] + v[0], v[2] - 2 * v[1], v[2] + 4 * v[3], v[4] - 2 * v[3]], name="alias")
    n = dd.reduce(m, tear=True)
    assert list(n.equations) == ["decay"]
    assert n.reduction.notes == ("5 algebraic unknowns eliminated",)
    tr = dd.simulate(n, 1.0, rtol=1e-10)
    assert [float(tr[f"v{k}"][0]) for k in range(5)] == [1.0, -1.0, -2.0, 0.5, 1.0]
    assert dd.eliminate(m).equations == {"decay": n.equations["decay"]}
    assert tr["x"][-1] == pytest.approx(np.exp(-1), abs=1e-9)


def test_what_is_left_of_a_vector_has_a_name():
    m = dd.Model("vector")
    x, z = m.state("x", start=1.0), m.algebraic("z", 3, start=[1.0, 1.0, 1.0], nominal=[1.0, 2.0, 3.0])
    m.equation(m.der(x), -z[0], name="balance")
    m.equation([z[0] - z[1] - x, z[1] ** 3 + z[1] - x, z[2] - z[0] * z[1]], name="laws")
    n = dd.reduce(m, tear=True)
    assert n.freeze().labels["z"] == ("z_torn[0]",)
    assert n.variables["z_torn"].nominal == (2.0,)
    one, two = (dd.simulate(k, 1.0, method="radau5", rtol=1e-9) for k in (m, n))
    assert two["z"].shape[1] == 3
    assert np.abs(two["z"][-1] - one["z"][-1]).max() < 1e-10


def test_with_constraints_and_with_a_choice_of_states():
    m = pendulum(rate=(0.0, 7.0))
    m2 = m.copy()
    pull = m2.algebraic("pull")
    m2.equation(pull, -2 * m2["rod"], name="force in the rod")
    for options in ({}, {"stabilise": "dummy_derivatives"}):
        n = dd.reduce(m2, tear=True, **options)
        assert n.reduction.algebraic == ("rod",)
        tr = dd.simulate(n, 1.0, rtol=1e-8)
        assert np.array_equal(tr["pull"], -2 * tr["rod"])
    assert len(tr.pieces) == 5


def test_steps_are_not_divided_through():
    """z + sign(z) has the slope 1 and is not a formula for z."""
    m = dd.Model("relay")
    x, z = m.state("x", start=1.0), m.algebraic("z", start=1.0)
    m.equation(m.der(x), -z)
    m.equation(z + 0.1 * ca.sign(z), x)
    assert dd.reduce(m, tear=True).reduction.algebraic == ("z",)


def test_nothing_to_tear():
    m = pendulum()
    assert dd.reduce(m, tear=True).equations == dd.reduce(m).equations


@pytest.mark.parametrize("name", ["chemical_akzo", "transistor_amplifier"])
def test_known_systems(name):
    k = catalogue.load(name)
    span = (0.0, 0.02) if name == "transistor_amplifier" else k.span
    one, two = (
        dd.simulate(n, span, start=k.start, inputs=k.inputs, rtol=1e-8)
        for n in (dd.reduce(k.model), dd.reduce(k.model, tear=True))
    )
    for v in (v.name for v in k.model.variables.values() if v.kind == "state"):
        assert np.abs(one[v][-1] - two[v][-1]).max() < 1e-6
