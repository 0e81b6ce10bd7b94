"""Relays of every kind end on their surface, or the run stops in words: none ends elsewhere with success."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.integrators.methods import METHODS
from daedalus.simulation.result.ending import Ending, Obstacle

KINDS = ("state", "law", "level", "two", "coupled", "nested", "moving", "kinked", "jumping", "rate")
# Conditions whose unknowns change on the surface itself have no known motion along it.
MAY_STOP = ("kinked", "jumping", "rate")
USUAL = ("auto", "radau5", "bdf", "rodas5p", "trbdf2")
# Those of constrained mechanics alone are left out.
EVERY = ("auto", *(name for name, method in METHODS.items() if method.family != "lobatto"))
END = 2.0


class Relay(NamedTuple):
    model: dd.Model
    ends: dict[str, float]  # what is on the surface at the end


def relay(kind: str, seed: int) -> Relay:
    """x' = b - a s(g) with |b| < a, where g is x or an unknown z of x, on its own or with more around it."""
    rng = np.random.default_rng(seed)
    m = dd.Model(kind)
    a, level = rng.uniform(0.5, 3.0), rng.uniform(-0.5, 0.5)
    b, bend, cube = rng.uniform(-0.7, 0.7) * a, rng.uniform(0.0, 0.5), rng.uniform(0.0, 0.2)
    away = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.2, 0.5) * (a - abs(b)))
    side = ca.sign if rng.random() < 0.5 else lambda guard: ca.if_else(guard > 0, 1.0, -1.0)

    def law(z: ca.SX | float) -> ca.SX:
        return z + bend * ca.sin(z) + cube * z**3

    place = float(law(level)) if kind == "level" else level
    # Where z jumps by 0.4 no z belongs to an x nearer than half of that.
    x = m.state("x", start=place + away + (float(np.copysign(0.2, away)) if kind == "jumping" else 0.0))
    z = x - level
    if kind != "state":
        z = m.algebraic("z", start=away)
        more = {
            "kinked": lambda: ca.if_else(z > 0, 0.5 * z, 0.0),
            "jumping": lambda: 0.2 * ca.sign(z),
            "rate": lambda: -0.01 * m.der(x),
        }.get(kind, lambda: 0.0)()
        m.equation(law(z) + more, x if kind == "level" else x - level)
    guard = z - level if kind == "level" else z
    push = b * ca.cos(m.time) if kind == "moving" else b
    if kind == "nested":
        y = m.state("y", start=1.0)
        m.equation(m.der(y), -y)
        m.equation(
            m.der(x), ca.if_else(guard > 0, ca.if_else(y > 0.5, -a, -1.5 * a), ca.if_else(y > 0.3, a, 1.2 * a)) + b
        )
    else:
        m.equation(m.der(x), push - a * side(guard))
    ends = {"x": place}
    if kind in ("two", "coupled"):
        y, w = m.state("y", start=rng.uniform(0.2, 0.6)), m.algebraic("w")
        m.equation(w + 0.2 * ca.sin(w), y + (0.3 * (x - level) if kind == "coupled" else 0.0))
        m.equation(m.der(y), -rng.uniform(1.0, 2.0) * side(w))
        ends["w"] = 0.0
    return Relay(m, ends)


def slides_or_stops(kind: str, seed: int, method: str) -> bool:
    """Whether a relay of the family ends on its surface, or stops in words where that is allowed."""
    made = relay(kind, seed)
    if kind != "state" and method != "auto" and METHODS[method].explicit:
        with pytest.raises(dd.SolverError):  # z has no formula
            dd.simulate(made.model, END, method=method, step=0.01)
        return True
    fixed = {} if method == "auto" or METHODS[method].adaptive else {"step": 0.01}
    tr = dd.simulate(made.model, END, method=method, max_steps=20_000, **fixed)
    if kind in MAY_STOP and not tr.success:
        assert tr.status is Ending.CHATTERING, tr.stop_reason
        assert tr.stop.obstacle is Obstacle.SLIDING
        assert "z" in tr.stop.condition
        return True
    assert tr.success, tr.stop_reason
    assert tr.end.time == END
    for name, value in made.ends.items() if kind != "rate" else ():
        assert float(tr.end[name]) == pytest.approx(value, abs=1e-6), name
    return True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", USUAL)
def test_it_ends_on_the_surface_or_stops_in_words(kind: str, method: str) -> None:
    assert slides_or_stops(kind, 7, method)


@pytest.mark.parametrize(("method", "seed"), [("bdf", 5), ("radau3", 5), ("rodas5p", 4)])
def test_unknowns_on_the_surface_are_those_of_one_side(method: str, seed: int) -> None:
    """x' jumps with the rounding of z where z is at its level: Newton's method for both would go to and fro."""
    assert slides_or_stops("level", seed, method)


@pytest.mark.parametrize(("start", "rtol"), [(0.5, 1e-6), (1.0, 1e-6), (0.7, 1e-4), (0.5, 1e-9)])
def test_turns_of_an_unknown_do_not_grow(start: float, rtol: float) -> None:
    """z is known to the error of a step where it turns: a switch that rests in it must not turn ever further out."""
    m = dd.Model("relay behind a law")
    x, z = m.state("x", start=start), m.algebraic("z", start=start)
    m.equation(m.der(x), -ca.sign(z))
    m.equation(z + 0.2 * ca.sin(z) + 0.05 * z**3, x)
    tr = dd.simulate(m, 2.0, method="bdf", rtol=rtol)
    assert tr.success, tr.stop_reason
    assert abs(float(tr.end["x"])) < 1e-9
    assert np.all(np.abs(tr["x"][tr.time > start + 1e-3]) < 1e-9)


@pytest.mark.long
@pytest.mark.parametrize("method", EVERY)
@pytest.mark.parametrize("kind", KINDS)
def test_every_method_does(kind: str, method: str) -> None:
    assert all(slides_or_stops(kind, seed, method) for seed in range(6))
