"""Branches of textbook models: special points against closed forms and published values."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def written(name, parameter, start, equations):
    """A model of scalar states, given its right-hand sides."""
    m = dd.Model(name)
    moved = m.parameter(*parameter)
    states = [m.state(f"x{k}", start=value) for k, value in enumerate(start)]
    for state, rate in zip(states, equations(moved, *states)):
        m.equation(m.der(state), rate)
    return m


def told(branch):
    return [(point.kind, float(point.parameter)) for point in branch.points]


def test_two_reactions_of_first_order():
    # E. J. Doedel et al., AUTO-07P manual, demo "ab": folds 0.105739, 0.0889318, Hopf 0.130900.
    m = written(
        "A to B", ("D", 0.0), (0.0, 0.0),
        lambda D, u, v: (-u + D * (1 - u) * ca.exp(v), -3 * v + 14 * D * (1 - u) * ca.exp(v)),
    )  # fmt: skip
    branch = dd.branch(m, "D", (0.0, 0.5))
    assert [kind for kind, _ in told(branch)] == ["fold", "fold", "hopf"]
    assert np.allclose([value for _, value in told(branch)], [0.105739, 0.0889318, 0.130900], atol=5e-7)


def test_glycolysis():
    # E. E. Sel'kov, Eur. J. Biochem. 4 (1968): Hopf points where b² = (1 - 2 a ± sqrt(1 - 8 a)) / 2.
    a = 0.08
    m = written(
        "Sel'kov", ("b", 0.1), (0.1, 1.11), lambda b, x, y: (-x + a * y + x**2 * y, b - a * y - x**2 * y)
    )  # fmt: skip
    expected = np.sqrt((1 - 2 * a + np.array([-1, 1]) * np.sqrt(1 - 8 * a)) / 2)
    points = told(dd.branch(m, "b", (0.1, 1.5)))
    assert [kind for kind, _ in points] == ["hopf", "hopf"]
    assert np.allclose([value for _, value in points], expected, rtol=1e-9)


def test_predator_and_prey():
    # M. L. Rosenzweig, R. H. MacArthur, Am. Nat. 97 (1963): the cycle is born where the top of the prey's line is.
    m = written(
        "predator and prey", ("K", 1.5), (1.0, 2 / 3),
        lambda K, n, p: (n * (1 - n / K) - n * p / (1 + n), p * (0.6 * n / (1 + n) - 0.3)),
    )  # fmt: skip
    (point,) = told(dd.branch(m, "K", (1.5, 5.0)))
    assert point[0] == "hopf"
    assert abs(point[1] - 3.0) < 1e-9


def test_a_nerve():
    # C. Morris, H. Lecar, Biophys. J. 35 (1981), the set of J. Rinzel and G. B. Ermentrout (1998): Hopf points at
    # 93.86 and 212.02, the coarser of published figures.
    def equations(current, V, w):
        opening = 0.5 * (1 + ca.tanh((V + 1.2) / 18))
        rest = 0.5 * (1 + ca.tanh((V - 2) / 30))
        flows = 4.4 * opening * (V - 120) + 8 * w * (V + 84) + 2 * (V + 60)
        return (current - flows) / 20, 0.04 * (rest - w) * ca.cosh((V - 2) / 60)

    points = told(dd.branch(written("nerve", ("I", 0.0), (-60.0, 0.015), equations), "I", (0.0, 300.0)))
    assert [kind for kind, _ in points] == ["hopf", "hopf"]
    assert np.allclose([value for _, value in points], [93.86, 212.02], atol=5e-3)


def test_langford():
    # W. F. Langford's system: folds at ±2/3, Hopf point where z = 0.7.
    m = written(
        "Langford", ("mu", -0.5), (0.0, 0.0, -1.5),
        lambda mu, x, y, z: (
            (z - 0.7) * x - 3.5 * y, 3.5 * x + (z - 0.7) * y, mu + z - z**3 / 3 - (x**2 + y**2) * (1 + 0.25 * z)
        ),
    )  # fmt: skip
    points = dict(told(dd.branch(m, "mu", (-1.0, 1.0))))
    assert abs(abs(points["fold"]) - 2 / 3) < 1e-9
    assert abs(points["hopf"] - (0.7**3 / 3 - 0.7)) < 1e-9


def test_a_branch_that_the_first_value_does_not_reach():
    # O. E. Rössler's equilibria meet in a fold at c = 2 sqrt(a b); below there is none.
    m = written(
        "Rössler", ("c", 3.0), (0.0134, -0.0668, 0.0668),
        lambda c, x, y, z: (-y - z, x + 0.2 * y, 0.2 + z * (x - c)),
    )  # fmt: skip
    branch = dd.branch(m, "c", (0.1, 6.0))
    # With a = b the trace vanishes there too, so a pair ±i sqrt(2 - a²) crosses at the fold: a fold-Hopf point.
    assert sorted(told(branch)) == [("fold", pytest.approx(0.4, rel=1e-9)), ("hopf", pytest.approx(0.4, rel=1e-9))]
    pair = next(point for point in branch.points if point.kind == "hopf")
    assert abs(pair.frequency - np.sqrt(2 - 0.2**2)) < 1e-9
    assert branch["c"][0] == branch["c"][-1] == 6.0
    assert branch["x0"][0] != branch["x0"][-1]
    assert len(branch.eigenvalues) == len(branch["c"])
    assert "no equilibrium was found at c = 0.1; the branch was followed both ways from 3" in branch.notes


@pytest.mark.wide
def test_no_equilibrium_anywhere_is_an_error():
    m = written("drift", ("a", 1.0), (1.0,), lambda a, x: (1 + x**2 + a,))
    with pytest.raises(dd.SolverError, match="No equilibrium of 'drift' was found"):
        dd.branch(m, "a", (0.0, 2.0))
