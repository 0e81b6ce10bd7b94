"""Equilibria of planar fields: all are found, and of the kind that theory and the motion itself say."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import daedalus as dd
from daedalus.display.planar_equilibria import find_equilibria
from daedalus.display.planar_field import planar_field


def field(f, g, box=((-1.0, 1.0), (-1.0, 1.0))):
    m = dd.Model("plane")
    x = m.state("x", start=0.0)
    y = m.state("y", start=0.0)
    m.equation(m.der(x), f(x, y))
    m.equation(m.der(y), g(x, y))
    return planar_field(m, ("x", "y"), np.array(box, dtype=float), None, None, None, 0.0)


def only(f, g, box=((-1.0, 1.0), (-1.0, 1.0))):
    (found,), curve = find_equilibria(field(f, g, box))
    assert not len(curve)
    return found


LINEAR = {
    "stable node": [[-3.0, 1.0], [0.0, -1.0]],
    "unstable node": [[3.0, 1.0], [0.0, 1.0]],
    "stable focus": [[-1.0, 2.0], [-2.0, -1.0]],
    "unstable focus": [[1.0, 2.0], [-2.0, 1.0]],
    "saddle": [[1.0, 2.0], [2.0, 1.0]],
    "centre": [[1.0, 2.0], [-2.0, -1.0]],
}


@pytest.mark.parametrize("kind", LINEAR)
def test_linear_systems(kind):
    (a, b), (c, d) = LINEAR[kind]
    e = only(lambda x, y: a * (x - 0.3) + b * (y + 0.2), lambda x, y: c * (x - 0.3) + d * (y + 0.2))
    assert e.kind == kind
    assert e.stable == (kind.startswith("stable") or kind == "centre")
    assert e.point == pytest.approx((0.3, -0.2), abs=1e-12)
    np.testing.assert_allclose(e.jacobian, LINEAR[kind], atol=1e-12)
    np.testing.assert_allclose(
        np.sort_complex(e.eigenvalues), np.sort_complex(np.linalg.eigvals(LINEAR[kind])), atol=1e-7
    )


@pytest.mark.parametrize("A", [[[-1.0, 0.0], [0.0, -1.0]], [[-1.0, 1.0], [0.0, -1.0]]])
def test_equal_eigenvalues_are_a_node(A):
    e = only(lambda x, y: A[0][0] * x + A[0][1] * y, lambda x, y: A[1][0] * x + A[1][1] * y)
    assert e.kind == "stable node"
    assert e.eigenvalues == pytest.approx((-1.0, -1.0))


def any_linear():
    m = dd.Model("linear")
    x = m.state("x", start=0.0)
    y = m.state("y", start=0.0)
    A = m.parameter("A", np.eye(2), shape=(2, 2))
    m.equation(m.der(x), A[0, 0] * x + A[0, 1] * y)
    m.equation(m.der(y), A[1, 0] * x + A[1, 1] * y)
    return m


# One model for all examples: new values of parameters compile nothing.
ANY_LINEAR = any_linear()


@given(st.lists(st.floats(-3, 3), min_size=4, max_size=4))
def test_random_linear_systems_agree_with_numpy(entries):
    A = np.array(entries).reshape(2, 2)
    values = np.linalg.eigvals(A)
    # Away from the borders between kinds, where digits decide.
    assume(abs(np.linalg.det(A)) > 1e-2)
    assume(np.min(np.abs(values.real)) > 1e-3)
    assume(abs(np.trace(A) ** 2 - 4 * np.linalg.det(A)) > 1e-2)
    box = np.array([[-1.0, 1.0], [-1.0, 1.0]])
    (e,), _ = find_equilibria(planar_field(ANY_LINEAR, ("x", "y"), box, None, None, {"A": A}, 0.0))
    assert e.stable == bool(np.all(values.real < 0))
    assert ("focus" in e.kind) == bool(np.any(values.imag != 0))
    assert (e.kind == "saddle") == bool(np.linalg.det(A) < 0)


def growth_of_a_turn(f, g, radius):
    """How much larger an orbit from (radius, 0) is after one turn, from a simulation."""
    m = dd.Model("turn")
    x = m.state("x", start=radius)
    y = m.state("y", start=0.0)
    m.equation(m.der(x), f(x, y))
    m.equation(m.der(y), g(x, y))
    m.event("turn", y, direction=1, terminal=True)
    half = dd.simulate(m, 100.0, rtol=1e-12, atol=1e-15)
    assert half.status == "event"
    return half["x"][-1] / radius


WEAK = {
    "weak stable focus": (lambda x, y: -y - x**3, lambda x, y: x - y**3),
    "weak unstable focus": (lambda x, y: -2 * y + x**3, lambda x, y: x + y**3),
    # The quadratic terms alone decide here.
    "weak unstable focus ": (lambda x, y: -y - x * y, lambda x, y: x + x**2 - x * y),
    "weak stable focus ": (lambda x, y: -y - x * y, lambda x, y: x + x**2 + x * y),
}


@pytest.mark.parametrize("name", WEAK)
def test_a_weak_focus_is_told_from_a_centre_as_the_motion_shows(name):
    f, g = WEAK[name]
    e = only(f, g, ((-0.4, 0.4), (-0.4, 0.4)))
    assert e.kind == name.strip()
    grows = growth_of_a_turn(f, g, 0.05) > 1 + 1e-9
    assert e.stable is not grows


def test_nonlinear_centres():
    assert only(lambda x, y: y, lambda x, y: -np.sin(x)).kind == "centre"
    # Predators and prey, written about their equilibrium: quadratic terms that cancel.
    assert only(lambda x, y: -y * (1 + x), lambda x, y: 2 * x * (1 + y), ((-0.9, 0.9), (-0.9, 0.9))).kind == "centre"


@pytest.mark.parametrize(("slope", "stable"), [(1.0, False), (-1.0, None)])
def test_a_zero_eigenvalue_decides_only_beside_a_positive_one(slope, stable):
    e = only(lambda x, y: (x - 0.3) ** 2, lambda x, y: slope * y)
    assert e.kind == "degenerate"
    assert e.stable is stable
    assert e.point == pytest.approx((0.3, 0.0), abs=1e-6)
    assert "degenerate, " + ("unstable" if stable is False else "stability undecided") in repr(e)


def test_a_curve_of_equilibria_is_told_from_points():
    isolated, curve = find_equilibria(field(lambda x, y: y, lambda x, y: -y * (1 + x**2)))
    assert isolated == ()
    assert len(curve) > 20
    np.testing.assert_allclose(curve[:, 1], 0.0, atol=1e-9)


def test_all_of_many_are_found():
    found, _ = find_equilibria(field(lambda x, y: np.sin(3 * x), lambda x, y: np.sin(3 * y), ((-5, 5), (-5, 5))))
    multiples = np.arange(-4, 5) * np.pi / 3
    assert len(found) == len(multiples) ** 2
    np.testing.assert_allclose([e.point for e in found], [(a, b) for a in multiples for b in multiples], atol=1e-9)
    # Rows and columns alternate between nodes and saddles.
    assert sum(e.kind == "saddle" for e in found) == 40
    assert sum(e.stable for e in found) == 16


def test_none_is_found_where_there_is_none():
    assert find_equilibria(field(lambda x, y: 1 + x**2, lambda x, y: -y))[0] == ()
    assert find_equilibria(field(lambda x, y: 1 + 0 * x, lambda x, y: 2 + 0 * y))[0] == ()
    # Just outside the box.
    assert find_equilibria(field(lambda x, y: x - 1.01, lambda x, y: -y))[0] == ()


def test_the_edge_of_the_domain_does_not_disturb():
    e = only(lambda x, y: np.log(x), lambda x, y: -y, ((-1.0, 3.0), (-1.0, 1.0)))
    assert e.point == pytest.approx((1.0, 0.0))
    assert e.kind == "saddle"


def test_very_different_scales():
    e = only(lambda x, y: 1e6 * (y - 1e-6 * x), lambda x, y: -1e-3 * y, ((-1e3, 1e3), (-1e-3, 1e-3)))
    assert e.kind == "stable node"
