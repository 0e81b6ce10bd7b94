"""The search of boundary values in the core against the same in Python, and code that conditions share."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.studies.boundary import boundary_value
from daedalus.studies.boundary.boundary_conditions import read_conditions
from daedalus.studies.collocation import Collocation, cut


def pendulum():
    m = dd.Model("pendulum")
    r, pull = m.state("r", 2, start=[0.0, -1.0], rate=[1.0, 0.0]), m.algebraic("pull")
    m.equation(m.der(m.der(r)), ca.vertcat(0, -9.81) - pull * r)
    m.equation(r.T @ r, 1.0)
    guess = {"r": lambda t: [np.sin(2 * t), -np.cos(2 * t)], "r_dot": [2.0, 1.0]}
    return m, (0, 0.5), lambda at: [at(0)["r"][0], at(0.5)["r"][0] - 0.8], guess, {}


def mathieu():
    m = dd.Model("Mathieu")
    y, a = m.state("y", start=1.0, rate=0.0), m.parameter("a", 0.0)
    m.equation(m.der(m.der(y)), -(a - 2 * ca.cos(2 * m.time)) * y)
    return m, (0, np.pi), lambda at: [at(0)["y"] - 1, at(0)["y_dot"], at(np.pi)["y_dot"]], {}, {"a": 0.0}


def driven_layer():
    """ε y'' + y y' - y = u with inputs that vary: interior corners are sharp, Newton's method is damped."""
    m = dd.Model("layer")
    y, u = m.state("y", start=0.0, rate=0.0), m.input("u")
    m.equation(m.der(m.der(y)), (y - y * m.der(y) + u) / 0.02)
    return m, (0, 1), lambda at: [at(0)["y"] + 1, at(1)["y"] - 1.5], {"y": lambda t: 2.5 * t - 1, "y_dot": 2.5}, {}


@pytest.mark.parametrize("make", [pendulum, mathieu, driven_layer])
def test_the_core_finds_what_the_general_search_finds(make, monkeypatch):
    m, span, conditions, guess, free = make()
    inputs = {"u": lambda t: 0.1 * np.sin(t)} if make is driven_layer else {}
    own = dd.boundary_value(m, span, conditions, guess=guess, free=free, inputs=inputs)
    monkeypatch.setattr(boundary_value, "WIDE", -1)
    general = dd.boundary_value(m, span, conditions, guess=guess, free=free, inputs=inputs)
    assert np.array_equal(own.time, general.time)
    for name in own:
        assert own[name] == pytest.approx(general[name], rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("make", [pendulum, mathieu])
def test_motions_on_other_meshes_and_what_they_miss(make):
    m, span, conditions, guess, free = make()
    sol = dd.boundary_value(m, span, conditions, guess=guess, free=free, rtol=1e-3)
    collocation, values, mesh = sol._collocation, sol._values, sol.time
    own = Collocation(collocation.system, {})
    unknowns = own.joined(values)
    finer = np.sort(np.append(cut(mesh, 3), span[0] + 0.123 * (span[1] - span[0])))
    moved, _ = own.split(own.moved(mesh, unknowns, finer), len(finer) - 1)
    assert moved.x == pytest.approx(values.between(mesh, finer)[0], abs=1e-12)
    _, rates, z = values.between(mesh, own.points(finer).ravel())
    assert moved.rates.reshape(rates.shape) == pytest.approx(rates, abs=1e-10)
    assert moved.z.reshape(z.shape) == pytest.approx(z, abs=1e-9)
    shares = np.array([0.1, 0.5, 0.95])
    at = (mesh[:-1, None] + np.diff(mesh)[:, None] * shares).ravel()
    found = own.kernel.missed(mesh, unknowns, own.driven(at), sol._p, shares)
    x, rates, z = values.between(mesh, at)
    expected = own.corrections(at, rates, x, z, sol._p)[:, : own.n]
    assert found[1].reshape(x.shape) == pytest.approx(x, abs=1e-13)
    assert found[0].reshape(expected.shape) == pytest.approx(expected, abs=1e-10)


def test_conditions_that_differ_in_numbers_share_code():
    m = dd.Model("string")
    y = m.state("y", start=0.0, rate=0.0)
    m.equation(m.der(m.der(y)), -y)
    system = m.freeze()
    ends = [
        read_conditions(
            lambda at, e=e: [2 * at(0)["y"] - 0.5, at(1)["y"] ** 2 - e * ca.exp(-3.0 * at(0)["y"])], system, "string",
            (0.0, 1.0), {}, np.zeros(0),
        )
        for e in (1.5, 2.5)
    ]  # fmt: skip
    assert ends[0].own is ends[1].own
    x = np.array([0.3, 0.0, 0.7, 0.0])
    for e, own in zip((1.5, 2.5), ends):
        assert own(x, np.zeros(0))[0] == pytest.approx([0.1, 0.49 - e * np.exp(-0.9)], rel=1e-15)
    other = read_conditions(
        lambda at: [2 * at(0)["y_dot"] - 0.5, at(1)["y"] ** 2 - 1.0], system, "string", (0.0, 1.0), {}, np.zeros(0)
    )
    assert other.own is not ends[0].own
    for end in (0.2, 0.4):
        sol = dd.boundary_value(m, (0, 1), lambda at, end=end: [at(0)["y"], at(1)["y"] - end])
        assert float(sol["y_dot"][0]) == pytest.approx(end / np.sin(1.0), rel=1e-9)
