"""What models conserve is found among all their states, whether these are one vector or not, and nothing else is."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.optimisation.transcription.invariants import conserved_forms


def conserved(names: str, inputs: str, rates) -> list[str]:
    """The names of what a model x' = rates(x, u) conserves."""
    m = dd.Model("conserving")
    x, u = [m.state(name) for name in names.split()], [m.input(name) for name in inputs.split()]
    m.equation([m.der(s) for s in x], rates(*x, *u))
    return [name for name, _ in conserved_forms(m.freeze())]


def reaction(k1: float, k2: float, k3: float):
    return lambda x, y, z, T: [
        -k1 * ca.exp(-T) * x + k2 * y * z,
        k1 * ca.exp(-T) * x - k2 * y * z - k3 * y**2,
        k3 * y**2,
    ]


def epidemic(s, i, r, u):
    return [-0.3 * s * i - u * s, 0.3 * s * i - 0.1 * i, 0.1 * i + u * s]


def fall(x, y, v, a):
    return [v * ca.sin(a), v * ca.cos(a), 9.81 * ca.cos(a)]


CONSERVE = {
    "an epidemic": (("s i r", "u", epidemic), ["s, i, r"]),
    "a fall": (("x y v", "a", fall), ["y, v"]),
    "a spin": (("x y z", "u", lambda x, y, z, u: [-y, x - u * z, u * y]), ["x, y, z"]),
    "reactions of nine decades": (("x y z", "T", reaction(0.04, 1e4, 3e7)), ["x, y, z"]),
    "two constants": (("a b c", "", lambda a, b, c: [0 * a, 0 * b, a * b]), ["b", "a"]),
}
CHANGE = {
    # Functions that vanish at values of an ordinary size.
    "rates that need heat": ("x y", "T", lambda x, y, T: [-1e7 * ca.exp(-6000 / T) * x, y * ca.exp(-5000 / T)]),
    "an effect above a dose": ("size dose", "u", lambda size, dose, u: [ca.fmax(dose - 10, 0), u - 0.27 * dose]),
    "a switch": ("x y", "u", lambda x, y, u: [ca.if_else(u > 50, 1, 0), u]),
    # Terms that are small beside others.
    "a small leak": ("x y z", "T", lambda x, y, z, T: [
        -1e10 * ca.exp(-T) * x, 1e10 * ca.exp(-T) * x - 1e-3 * y * T, 1e-3 * y * T + 1e-9 * x]),
    "a slow input": ("x y", "u", lambda x, y, u: [1e-14 * u, x]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSERVE)
def test_what_is_conserved_is_found(name):
    model, wanted = CONSERVE[name]
    assert conserved(*model) == wanted


@pytest.mark.parametrize("name", CHANGE)
def test_what_changes_is_not_taken_for_conserved(name):
    assert conserved(*CHANGE[name]) == []


def test_one_vector_and_scalars_are_the_same_problem():
    """Three ends of which two are independent, of a sum that the model keeps."""
    costs = []
    for scalars in (True, False):
        m = dd.Model("epidemic")
        x = ca.vertcat(*(m.state(name) for name in "sir")) if scalars else m.state("x", 3)
        u = m.input("u")
        rates = [-2 * x[0] * x[1] - u * x[0], 2 * x[0] * x[1] - x[1], x[1] + u * x[0]]
        m.equation([m.der(e) for e in (x[0], x[1], x[2])] if not scalars else [m.der(m[n]) for n in "sir"], rates)
        names = "sir" if scalars else ("x[0]", "x[1]", "x[2]")
        ocp = dd.OptimalControl(m, 3.0, intervals=20)
        ocp.start(dict(zip(names, (0.9, 0.1, 0.0))))
        ocp.finish(dict(zip(names, (0.4, 0.05, 0.55))))
        ocp.minimise(running=u**2)
        plan = ocp.solve()
        assert plan.success, plan
        assert [(found.given, found.independent) for found in plan.ends] == [(3, 2)]
        costs.append(plan.objective)
    assert costs[0] == pytest.approx(costs[1], rel=1e-8)


@pytest.mark.wide
@pytest.mark.parametrize("guess", [4.0, 6.0])
@pytest.mark.parametrize("ends", [{"z": -1.0}, {"x": 0.0, "y": 0.0, "z": -1.0}])
def test_a_spin_is_turned_over(ends, guess):
    """Least time with a drift; of the bang-bang arcs after Boscain and Mason (2006) the best is 6.274889 long.

    U. Boscain, P. Mason, Time minimal trajectories for a spin 1/2 particle in a magnetic field, J. Math. Phys. 47.
    """
    m = dd.Model("spin")
    x, y, z, u = m.state("x", start=0.0), m.state("y", start=0.0), m.state("z", start=1.0), m.input("u")
    m.equation([m.der(x), m.der(y), m.der(z)], [-y, x - u * z, u * y])
    ocp = dd.OptimalControl(m, dd.unknown(guess, 0.5, 20.0))
    ocp.start()
    ocp.finish(ends)
    ocp.bound(u, -0.8, 0.8)
    ocp.minimise(final=ocp.duration)
    plan = ocp.solve()
    assert plan.success, plan
    assert plan.objective == pytest.approx(6.274889, rel=2e-3)
    assert np.linalg.norm([plan["x"], plan["y"], plan["z"]], axis=0) == pytest.approx(1.0, abs=1e-4)
