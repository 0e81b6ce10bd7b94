"""Mechanisms written with bodies and joints from approximate poses: named closure errors before, none after."""

import pickle

import numpy as np
import pytest

import daedalus as dd
from daedalus.catalogue.mechanics import four_bar, slider_crank

GAP = 1e-9


def poses(m: dd.Model) -> list[str]:
    """Everything but the angle and the rate of the crank, which stay as given."""
    own = [f"{name}.{part}" for name in m.bodies for part in ("position", "angle", "velocity", "angular_velocity")]
    return [name for name in own if name not in ("crank.angle", "crank.angular_velocity")]


def tip(position, angle: float, along: float) -> np.ndarray:
    """A point of a bar, this far along it from its middle."""
    return np.asarray(position) + along * np.array([np.cos(angle), np.sin(angle)])


def bar(m: dd.Model, name: str, mass: float, length: float, position, angle: float, rate: float = 0.0):
    return m.body(
        name, mass, mass * length**2 / 12, "planar",
        position=position, velocity=[0.0, 0.0], rotation=angle, angular_velocity=rate,
    )  # fmt: skip


# Read off a sketch: middle and angle of every bar.
FOUR_BAR = {"crank": ([0.05, 0.1], 0.9), "coupler": ([0.3, 0.3], 0.4), "rocker": ([0.5, 0.2], 1.4)}
SLIDER_CRANK = {"crank": ([0.06, 0.04], 0.7), "rod": ([0.3, 0.06], -0.3), "slider": ([0.55, 0.02], 0.1)}


def four_bar_from_a_sketch() -> dd.Model:
    m = dd.Model("four bars")
    m.gravity([0.0, -9.81])
    lengths = (four_bar.CRANK, four_bar.COUPLER, four_bar.ROCKER)
    rates = (four_bar.RATE, 0.0, 0.0)
    crank, coupler, rocker = (
        bar(m, name, mass, length, *FOUR_BAR[name], rate)
        for name, mass, length, rate in zip(FOUR_BAR, four_bar.MASSES, lengths, rates)
    )
    a, b, c = (length / 2 for length in lengths)
    m.joint("crank_bearing", "revolute", dd.ground, crank, at_b=[-a, 0.0])
    m.joint("crank_pin", "revolute", crank, coupler, at_a=[a, 0.0], at_b=[-b, 0.0])
    m.joint("rocker_pin", "revolute", coupler, rocker, at_a=[b, 0.0], at_b=[c, 0.0])
    m.joint("rocker_bearing", "revolute", dd.ground, rocker, at_a=[four_bar.GROUND, 0.0], at_b=[-c, 0.0])
    m.output("energy", sum(x.kinetic_energy + 9.81 * x.mass * x.position[1] for x in (crank, coupler, rocker)))
    return m


def slider_crank_from_a_sketch() -> dd.Model:
    m = dd.Model("engine")
    m.gravity([0.0, -9.81])
    a, b = slider_crank.CRANK / 2, slider_crank.ROD / 2
    crank = bar(m, "crank", 0.8, 2 * a, *SLIDER_CRANK["crank"], slider_crank.RATE)
    rod = bar(m, "rod", 1.2, 2 * b, *SLIDER_CRANK["rod"])
    slider = bar(m, "slider", 0.5, 0.1, *SLIDER_CRANK["slider"])
    m.joint("main_bearing", "revolute", dd.ground, crank, at_b=[-a, 0.0])
    m.joint("crank_pin", "revolute", crank, rod, at_a=[a, 0.0], at_b=[-b, 0.0])
    m.joint("gudgeon_pin", "revolute", rod, slider, at_a=[b, 0.0])
    m.joint("guide", "prismatic", dd.ground, slider, axis_a=[1.0, 0.0])
    m.output("energy", sum(x.kinetic_energy + 9.81 * x.mass * x.position[1] for x in (crank, rod, slider)))
    return m


def test_the_closure_error_of_every_joint_of_a_four_bar_linkage():
    """Distances between the points that each hinge joins, measured on the sketch."""
    s = dd.initialise(m := four_bar_from_a_sketch(), free=poses(m))
    a, b, c = four_bar.CRANK / 2, four_bar.COUPLER / 2, four_bar.ROCKER / 2
    crank, coupler, rocker = FOUR_BAR.values()
    expected = {
        "crank_bearing": tip(*crank, -a),
        "crank_pin": tip(*crank, a) - tip(*coupler, -b),
        "rocker_pin": tip(*coupler, b) - tip(*rocker, c),
        "rocker_bearing": tip(*rocker, -c) - [four_bar.GROUND, 0.0],
    }
    assert s.closure == pytest.approx({name: np.linalg.norm(gap) for name, gap in expected.items()})
    assert min(s.closure.values()) > 1e-3


def test_the_closure_error_of_every_joint_of_a_slider_crank():
    s = dd.initialise(m := slider_crank_from_a_sketch(), free=poses(m))
    crank, rod, slider = SLIDER_CRANK.values()
    a, b = slider_crank.CRANK / 2, slider_crank.ROD / 2
    expected = {
        "main_bearing": np.linalg.norm(tip(*crank, -a)),
        "crank_pin": np.linalg.norm(tip(*crank, a) - tip(*rod, -b)),
        "gudgeon_pin": np.linalg.norm(tip(*rod, b) - slider[0]),
        # The guide holds the height and the angle.
        "guide": np.hypot(slider[0][1], slider[1]),
    }
    assert s.closure == pytest.approx(expected)


def test_a_four_bar_linkage_is_assembled():
    """The closed form of the loop, angles and rates, for the crank as given."""
    s = dd.initialise(m := four_bar_from_a_sketch(), free=poses(m))
    angles, rates = four_bar.closed(four_bar.ANGLE, four_bar.RATE)
    assert s.largest_residual < GAP
    assert [s[f"{name}.angle"] for name in m.bodies] == pytest.approx(angles)
    assert [s[f"{name}.angular_velocity"] for name in m.bodies] == pytest.approx(rates)
    assert s.origin["crank.angle"] == "given"
    assert s.origin["rocker.angle"] == "computed"


def test_a_slider_crank_is_assembled():
    s = dd.initialise(m := slider_crank_from_a_sketch(), free=poses(m))
    lean = -np.arcsin(slider_crank.CRANK / slider_crank.ROD * np.sin(slider_crank.ANGLE))
    reach = slider_crank.CRANK * np.cos(slider_crank.ANGLE) + slider_crank.ROD * np.cos(lean)
    assert s.largest_residual < GAP
    assert s["rod.angle"] == pytest.approx(lean)
    assert s["slider.position"] == pytest.approx([reach, 0.0], abs=GAP)
    assert s["slider.angle"] == pytest.approx(0.0, abs=GAP)


@pytest.mark.parametrize("build", [four_bar_from_a_sketch, slider_crank_from_a_sketch])
def test_an_assembled_mechanism_runs(build):
    """The loop stays closed and the energy stays."""
    m = build()
    s = dd.initialise(m, free=poses(m))
    tr = dd.simulate(m, 0.1, start=s, rtol=1e-9, atol=1e-11)
    assert tr.success
    assert np.ptp(tr["energy"]) < 1e-6 * np.abs(tr["energy"]).max()
    end = dd.initialise(m, tr.at(0.1))
    assert max(end.closure.values()) < 1e-7


def test_the_printed_start_names_the_joints_that_were_open():
    s = dd.initialise(m := four_bar_from_a_sketch(), free=poses(m))
    worst = max(s.closure, key=lambda name: s.closure[name])
    assert f"  the guess was off by: {worst} {s.closure[worst]:.3g}, " in repr(s)
    assert all(f"{name} {gap:.3g}" in repr(s) for name, gap in s.closure.items())
    assert "the guess was off by" not in repr(dd.initialise(m, s))


def test_closure_errors_travel_and_are_none_without_constraints():
    s = dd.initialise(m := slider_crank_from_a_sketch(), free=poses(m))
    assert pickle.loads(pickle.dumps(s)).closure == s.closure
    plain = dd.Model("decay")
    x = plain.state("x", start=1.0)
    plain.equation(plain.der(x), -x)
    assert dd.initialise(plain).closure == {}


def test_a_quaternion_that_is_too_long_is_named_too():
    m = dd.Model("free body")
    m.body("box", 1.0, dd.inertia.box(1.0, 0.1, 0.2, 0.3))
    s = dd.initialise(m, {"box.quaternion": [1.0, 0.5, 0.0, 0.0]}, free=["box.quaternion"])
    (name,) = s.closure
    assert "box" in name
    assert s.closure[name] > 0.1
    assert np.linalg.norm(s["box.quaternion"]) == pytest.approx(1.0)
