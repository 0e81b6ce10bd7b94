"""What a picture of a run shows: few panels, units, flat lines, nothing twice, nothing over each other."""

from functools import cache

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
import pytest
from tests.support.pictures import outside_texts, overlapping_texts

import daedalus as dd
from daedalus import catalogue
from daedalus.analysis.check_units import found_units
from daedalus.display.curves import MOST_CURVES, chosen_panels

SYSTEMS = ("motor_lift", "slider_crank", "driven_arm", "robertson")
MORE = ("bridge_rectifier", "rod_chain", "double_pendulum", "quadrotor", "delta_robot", "emep", "cart_pendulum")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@cache
def known_run(name):
    k = catalogue.load(name)
    return dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs)


def test_outputs_whose_terms_cancel_are_flat():
    """The momentum of seven stars, 1e-14, had a panel of noise: without units nothing was there to compare it with."""
    m = dd.Model("three masses")
    x, v = m.state("x", 3, start=[0.0, 1.1, 2.5]), m.state("v", 3, start=[0.1, -0.2, 0.1])
    pull = ca.vertcat(x[1] - x[0], x[0] + x[2] - 2 * x[1], x[1] - x[2])
    m.equation([m.der(x), m.der(v)], [v, pull - 1.5 * ca.vertcat(-1, 2, -1)])
    m.output("momentum", v[0] + v[1] + v[2])
    m.output("gap", 1e-11 * (x[1] - x[0]))
    curves = {c.name: c for panel in chosen_panels(dd.simulate(m, 2.0))[0] for c in panel.curves}
    assert curves["momentum"].flat == 0.0
    assert curves["gap"].flat is None


def test_internal_unknowns_of_parts_are_only_drawn_if_asked_for():
    """The unknowns with which junctions and piecewise diodes write their laws had curves of their own."""
    electrical = dd.components.electrical
    m = dd.Model("two diodes")
    source, ground = (
        m.add(electrical.VoltageSource("source", voltage=ca.sin(m.time))),
        m.add(electrical.Ground("ground")),
    )
    bent, smooth = electrical.Diode("bent", on_resistance=0.1), electrical.Diode("smooth", saturation_current=1e-14)
    for name, law in (("bent", bent), ("smooth", smooth)):
        diode, load = m.add(law), m.add(electrical.Resistor(f"load_{name}", resistance=10.0))
        m.connect(source.plus, diode.plus)
        m.connect(diode.minus, load.plus)
        m.connect(load.minus, ground.pin)
    m.connect(source.minus, ground.pin)
    tr = dd.simulate(m, 1.0)
    shown = {curve.name for panel in chosen_panels(tr)[0] for curve in panel.curves}
    assert "bent.current" in shown
    assert not [name for name in shown if name.endswith("drive")]
    assert "drive" not in " ".join(chosen_panels(tr)[1])
    assert "bent.drive" in tr.to_dataframe().columns
    assert len(tr.plot("bent.drive").axes) == 1
    assert "bent.drive" in dd.System.from_record(tr.system.to_record()).on_request


@pytest.mark.parametrize("name", [*SYSTEMS, *(pytest.param(name, marks=pytest.mark.wide) for name in MORE)])
def test_a_picture_nobody_specified_has_few_panels_that_do_not_collide(name):
    tr = known_run(name)
    figure = tr.plot()
    assert 1 <= len(figure.axes) <= 6
    for panel in figure.axes:
        assert panel.get_legend() is not None
        assert len([line for line in panel.lines if not line.get_label().startswith("_")]) <= MOST_CURVES
    assert figure.axes[-1].get_xlabel() == "time [s]"
    assert not overlapping_texts(figure)
    assert not outside_texts(figure)


def test_states_are_shown_and_parameters_and_copies_of_parts_are_not():
    tr = known_run("motor_lift")
    panels, left = chosen_panels(tr)
    shown = {curve.name for panel in panels for curve in panel.curves}
    assert {"motor.motor.current", "motor.shaft.angle"} <= shown
    assert not shown & {"motor.motor.resistance", "motor.motor.inertia", "battery.minus.voltage"}
    assert "motor.motor.resistance" in left
    currents = [c for panel in panels for c in panel.curves if c.unit == "A"]
    assert len(currents) == 1, "the same current flows through every port"


def test_curves_of_one_unit_share_a_panel():
    """Positions, velocities, angles, their rates, and forces of hinges."""
    panels, _ = chosen_panels(known_run("slider_crank"))
    units = [panel.unit for panel in panels if panel.unit]
    assert len(units) == len(set(units)) == 5


def test_outputs_without_a_unit_do_not_share_a_panel_with_other_dimensions():
    """The energy of a quadrotor was drawn beside its quaternion."""
    known = catalogue.load("quadrotor")
    panels, _ = chosen_panels(dd.simulate(known.model, 0.1, inputs=known.inputs))
    assert [panel.names for panel in panels if "energy" in panel.names] == [["energy"]]
    assert [panel.unit for panel in panels if "quaternion" in panel.names] == [""]


def test_units_are_found_only_where_all_of_a_formula_says_so():
    m = dd.Model("units")
    x, v = m.state("x", start=1.0, unit="m"), m.state("v", start=1.0, unit="m/s")
    plain = m.state("plain", start=1.0)
    m.equation([m.der(x), m.der(v), m.der(plain)], [v, -x, -plain])
    for name, formula in {
        "product": x * v, "mixed": x + v, "with_a_plain_one": x * plain, "hidden": 9.81 * x, "ratio": x / x,
    }.items():  # fmt: skip
        m.output(name, formula)
    assert found_units(m.freeze()) == {"product": "m^2/s"}


def test_what_is_left_out_is_told_with_how_to_see_it():
    below = known_run("driven_arm").plot()._supxlabel.get_text().replace("\n", " ")
    assert below.startswith("Not shown (")
    assert "tr.plot([...])" in below
    figure = known_run("mass_spring").plot()
    assert figure._supxlabel is None


@cache
def cradle():
    m = dd.Model("cradle")
    a = m.coordinate("a", 5, start=[-0.3, 0, 0, 0, 0], rate=0.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(a)))
    m.potential_energy(-9.81 * ca.sum1(ca.cos(a)))
    for k in range(4):
        m.unilateral(f"contact{k}", a[k + 1] - a[k], restitution=1.0)
    return dd.simulate(m, 1.0)


def test_rounding_is_a_flat_line_with_its_value():
    tr = cradle()
    figure = tr.plot()
    assert len(figure.axes) <= 6
    lines = {line.get_label(): line for panel in figure.axes for line in panel.lines}
    assert "a[1] = 0 (constant)" in lines
    assert np.ptp(lines["a[1] = 0 (constant)"].get_ydata()) == 0.0
    assert "a[0]" in lines
    assert not overlapping_texts(figure)


def test_what_truly_varies_is_never_flat():
    m = dd.Model("small")
    x = m.state("x", start=1e-12)
    y = m.state("y", start=[1.0, 1e-9], shape=2)
    m.equation(m.der(x), -x)
    m.equation(m.der(y), -y)
    tr = dd.simulate(m, 1.0, atol=1e-20)
    assert all(curve.flat is None for panel in chosen_panels(tr)[0] for curve in panel.curves)


def test_all_that_is_asked_for_is_drawn():
    tr = known_run("motor_lift")
    names = [name for name in tr if "voltage" in name or "current" in name]
    figure = tr.plot(names)
    assert sum(len(panel.lines) for panel in figure.axes) == len(names)


def test_bands_of_modes_that_never_change_are_left_out():
    figure = cradle().plot()
    assert not any("mode" in panel.get_ylabel() for panel in figure.axes)


def test_states_do_not_share_a_panel_with_differences_across_parts_where_there_is_room():
    """Temperatures of 290 K were flat lines above differences of 10 K."""
    panels, _ = chosen_panels(known_run("heated_house"))
    temperatures = [panel.names for panel in panels if panel.unit == "K"]
    assert temperatures[0] == ["air.temperature", "walls.temperature"]
    assert len(temperatures) == 2


@pytest.mark.parametrize(("name", "scale"), [("robertson", "log"), ("van_der_pol", "linear")])
def test_runs_over_many_decades_have_logarithmic_time(name, scale):
    k = catalogue.load(name)
    figure = dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs).plot()
    assert figure.axes[-1].get_xscale() == scale
    assert figure.axes[-1].get_xlabel() == "time [s]"


def test_rounding_of_a_plan_is_a_flat_line():
    """A cart that may begin where it has to end: three panels of noise of 1e-15 were drawn, one with an offset."""
    m = dd.Model("cart")
    x, v, F = m.state("x", unit="m"), m.state("v", unit="m/s"), m.input("F", unit="N")
    m.equation([m.der(x), m.der(v)], [v, F / 2.0])
    problem = dd.OptimalControl(m, duration=2.0)
    problem.finish({"x": 1.0, "v": 0.0})
    problem.minimise(running=F**2)
    figure = problem.solve().plot()
    for panel, value in zip(figure.axes, (1.0, 0.0, 0.0)):
        drawn = np.concatenate([line.get_ydata() for line in panel.lines[:1]])
        assert np.ptp(drawn) == 0
        assert drawn[0] == pytest.approx(value, abs=1e-9)
