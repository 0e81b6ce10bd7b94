"""Tolerances near and below what rounding leaves: runs go on as long as they can, and say it where they cannot."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


@pytest.mark.parametrize("method", ["radau5", "radau9"])
def test_small_deformations_tied_to_large_angles_do_not_stop_a_run(method):
    """The deformation passes zero, and its tolerance the rounding errors of the loop that it closes."""
    known = catalogue.load("flexible_slider_crank", index=3)
    span = (0.0, 0.012)
    tr = dd.simulate(known.model, span, start=known.start, method=method, rtol=1e-9, atol=1e-12)
    assert tr.success, tr.stop_reason
    other = dd.simulate(known.model, span, start=known.start, rtol=1e-11, atol=1e-14)
    assert other.method == "dop853"
    for name, bound in {"angle": 1.0, "slide": 1.0, "bend": 100.0, "angle_rate": 100.0, "force": 1e4}.items():
        off = np.max(np.abs(tr[name][-1] - other[name][-1])) / np.max(np.abs(other[name][-1]))
        assert off <= bound * 1e-9, name
    # Steps as many as order and tolerance need: no steps are lost in rounding errors.
    assert tr.work.steps < {"radau5": 3000, "radau9": 500}[method]


@pytest.mark.parametrize("rtol", [1e-9, 1e-10, 1e-11])
def test_chains_at_index_3_begin_and_go_on_at_tight_tolerances(rtol):
    known = catalogue.load("rod_chain", rods=10)
    tr = dd.simulate(known.model, 0.3, start=known.start, method="radau9", rtol=rtol, atol=1e-3 * rtol)
    assert tr.success, tr.stop_reason
    loose = dd.simulate(known.model, 0.3, start=known.start, method="radau9", rtol=10 * rtol, atol=1e-2 * rtol)
    assert tr.work.steps < 2 * loose.work.steps
    assert tr.drift()[next(iter(tr.drift()))] < 1e-12


def difference(scale):
    """z is a small difference of large states: its rounding errors are those of them."""
    m = dd.Model("difference")
    x, y = m.state("x", start=scale), m.state("y", start=scale)
    z = m.algebraic("z", start=0.0)
    m.equation(m.der(x), z + 1.0)
    m.equation(m.der(y), -z)
    m.equation(z**3 + z, y - x, name="balance")
    return m


@pytest.mark.parametrize("method", ["radau5", "radau9"])
def test_a_tolerance_below_rounding_is_told(method):
    # Of 40 runs near this rtol, 5e-6 of it apart, all finish up to ten times this scale with radau9 and up to this one
    # with radau5. At ten times that one its first steps may end where z is too small still: 27 of 40 finish.
    scale = {"radau5": 1e7, "radau9": 1e9}[method]
    assert dd.simulate(difference(scale), 1.0, method=method, rtol=1e-10, atol=1e-13).success
    tr = dd.simulate(difference(1e12), 1.0, method=method, rtol=1e-12, atol=1e-15)
    assert tr.status == "rounding"
    assert tr.stop.what == f"rounding errors of z exceed its tolerance at t = {tr.time[-1]:.6g}, whatever the step"
    assert tr.stop.remedy == "a looser rtol, or a looser atol for it: dd.simulate(..., atol={'name': value})"
    assert tr.stop_reason == "; ".join([tr.stop.what, *tr.stop.facts, f"try {tr.stop.remedy}"])
    assert dd.simulate(difference(1e12), 1.0, method=method, rtol=1e-12, atol={"z": 0.1}).success


@pytest.mark.parametrize("method", ["radau5", "radau9"])
@pytest.mark.parametrize("name", ["pendulum_3d", "rod_chain"])
def test_forces_of_the_first_steps_at_index_three_are_no_noise(name, method):
    """Rounding errors of positions grow by 1/h² in the forces: no event on one happens in a first step."""
    known = catalogue.load(name)
    model = known.model.copy()
    force = model["cable"] if name == "pendulum_3d" else model["hinge9"][0]
    model.event("large", force - 1.0, direction=1)
    model.event("small", force + 20.0, direction=-1)
    tr = dd.simulate(model, 0.05 * known.span[1], start=known.start, inputs=known.inputs, method=method)
    assert tr.success
    assert tr.events == []
    assert tr.time[1] > 1e-6
