"""Events of contacts and frictions are named by what happens, each contact that changes at a moment for itself."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def shaken(push: float, method: str = "auto") -> dd.Trajectory:
    m = dd.Model("shaken")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    f = m.friction("brake", v, kinetic=1.0, static=1.5)
    m.equation(m.der(x), v)
    m.equation(m.der(v), push * ca.sin(2 * m.time) + f)
    return dd.simulate(m, 6.0, method=method)


@pytest.mark.parametrize("push", [1.6, 2.0, 4.0, 9.0])
def test_a_friction_sticks_and_slips(push: float, tmp_path: Path) -> None:
    tr = shaken(push)
    assert tr.events[0].name == "brake.slips"
    for event in tr.events:
        holds = float(event.after["brake.mode"]) == 0
        assert event.name == ("brake.sticks" if holds else "brake.slips")
    tr.save(tmp_path / "run.nc")
    assert [e.name for e in dd.load(tmp_path / "run.nc").events] == [e.name for e in tr.events]


def test_a_strong_push_turns_it_without_rest() -> None:
    modes = [(float(e.before["brake.mode"]), float(e.after["brake.mode"])) for e in shaken(9.0).events]
    assert (1.0, -1.0) in modes


def test_a_floor_closes_and_opens_and_so_do_derivatives_tell() -> None:
    m = dd.Model("lift")
    h = m.coordinate("h", start=0.0, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(h) ** 2)
    m.potential_energy(1.0 * h)
    m.generalised_force(h, 1.5 * ca.sin(m.time))
    m.unilateral("floor", h)
    names = [event.name for event in dd.simulate(m, 12.0).events]
    assert names == ["floor.opens", "floor.closes"] * 2
    found = dd.sensitivities(m, 6.0, wrt=("start",))
    assert [event.name for event in found.events] == names[:2]


def test_contacts_that_change_together_have_an_event_each() -> None:
    """A beam falls flat on two supports: both close at once, whichever the run meets first."""
    m = dd.Model("beam")
    h, a = m.coordinate("h", start=1.0, rate=0.0), m.coordinate("a", start=0.0, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(h) ** 2 + 0.05 * m.rate(a) ** 2)
    m.potential_energy(9.81 * h)
    m.unilateral("left", h - 0.5 * a)
    m.unilateral("right", h + 0.5 * a)
    tr = dd.simulate(m, 1.0)
    assert sorted(event.name for event in tr.events) == ["left.closes", "right.closes"]
    assert np.ptp([event.time for event in tr.events]) < 1e-9


def test_names_of_what_happens_are_taken() -> None:
    m = dd.Model("taken")
    v = m.state("v", start=0.0)
    m.event("brake.slips", v - 1)
    with pytest.raises(dd.ModelError, match=r"brake\.slips"):
        m.friction("brake", v, kinetic=1.0)
