"""Points on conditions: linear systems are refused there, and changes of runs that pass them."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.analysis.points.jumping_point import jumping_equations


def relay() -> dd.Model:
    m = dd.Model("relay")
    x, y = m.state("x", start=1.0), m.state("y", start=0.5)
    m.equation(m.der(x), -2.0 * ca.sign(x) + 0.5 * y, name="pull")
    m.equation(m.der(y), -y + 1)
    return m


@pytest.mark.parametrize(
    ("law", "jumps"),
    [
        (lambda x: ca.sign(x), True),
        (lambda x: ca.if_else(x > 0, 1.0, 1.001), True),
        (lambda x: ca.if_else(x > 0, x, 2 * x), False),
        (lambda x: ca.fabs(x), False),
        (lambda x: ca.sign(x) * ca.sqrt(ca.fabs(x)), False),
        (lambda x: ca.sign(x - 0.1), False),
    ],
)
def test_jumps_are_told_from_corners_and_steep_places(law, jumps: bool) -> None:
    m = dd.Model("law")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), law(x), name="law")
    at = {"t": [0.0], "xdot": [0.0], "x": [0.0], "z": [], "u": [], "p": []}
    assert bool(jumping_equations(m.freeze(), at)) is jumps


def test_no_linear_system_at_a_point_that_a_run_slides_through() -> None:
    m = relay()
    tr = dd.simulate(m, 2.0)
    assert dd.linearise(m, at=tr.at(0.1)).A.tolist() == [[0.0, 0.5], [0.0, -1.0]]
    for call in (lambda: dd.linearise(m, at=tr.at(1.5)), lambda: dd.linearise(m, along=tr).at(1.5)):
        with pytest.raises(dd.SolverError) as refused:
            call()
        assert str(refused.value) == (
            "The equations of 'relay' jump at this point.\n"
            "  pull has other values on both sides of a condition that is just met\n"
            "  Because a linear system describes small deviations, and those lead to one side or the other.\n"
            "  Try: a point beside it, or m.friction with modes={...} for what sticks or slides"
        )


def test_the_mode_of_a_friction_is_told() -> None:
    m = dd.Model("block")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    f = m.friction("floor", v, kinetic=0.3)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x - 0.1 * v + f)
    sticks, slides = (dd.linearise(m, modes={"floor.mode": mode}).reduced() for mode in (0, 1))
    assert sorted(np.linalg.eigvals(slides.A).real) == pytest.approx([-0.05, -0.05])
    assert not np.linalg.eigvals(sticks.A).any()


def ball() -> dd.Model:
    m = dd.Model("ball")
    h = m.coordinate("x", start=1.0, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(h) ** 2)
    m.potential_energy(9.81 * h)
    m.unilateral("table", h, restitution=0.6)
    return m


def sampled() -> dd.Model:
    m = dd.Model("sampled")
    x, u = m.state("x", start=0.3), m.discrete("u")
    m.equation(m.der(x), u)
    m.every(0.1, {"u": -x})
    return m


@pytest.mark.parametrize(
    ("model", "told"),
    [(relay, "pull at t = 0.5"), (ball, "event table.closes at t = 0.45"), (sampled, "u is assigned at t = 0.1")],
)
def test_changes_of_runs_that_jump_are_refused(model, told: str) -> None:
    m = model()
    ltv = dd.linearise(m, along=dd.simulate(m, 1.0))
    with pytest.raises(dd.InputError, match="The run jumps between these times") as refused:
        ltv.respond(start={"x": 1e-4})
    assert told in str(refused.value)
    assert "dd.sensitivities, which goes through them" in str(refused.value)
    assert len(ltv.respond([0.01, 0.05], start={"x": 1e-4})["x"]) == 2
