"""Phase portraits of known systems: equilibria, and a picture that shows what the model does."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.display.phase_portrait import phase_portrait


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def pendulum(damping=0.0):
    m = dd.Model("pendulum")
    angle = m.state("angle", start=1.0, rate=0.0, unit="rad")
    d = m.parameter("damping", damping)
    torque = m.input("torque")
    m.equation(m.der(m.der(angle)), -np.sin(angle) - d * m.der(angle) + torque)
    return m


BOX = {"angle": (-4.0, 4.0), "angle_dot": (-3.0, 3.0)}


def kinds(portrait):
    return [e.kind for e in portrait.equilibria]


@pytest.mark.parametrize(
    ("damping", "hanging"), [(0.0, "centre"), (0.3, "stable focus"), (3.0, "stable node"), (-0.3, "unstable focus")]
)
def test_the_pendulum_hangs_at_a_centre_or_focus_and_stands_on_a_saddle(damping, hanging):
    portrait = phase_portrait(
        pendulum(), "angle", "angle_dot", BOX, inputs={"torque": 0.0}, parameters={"damping": damping}, trajectories=0
    )
    assert kinds(portrait) == ["saddle", hanging, "saddle"]
    np.testing.assert_allclose([e.values["angle"] for e in portrait.equilibria], [-np.pi, 0, np.pi], atol=1e-10)
    assert [e.stable for e in portrait.equilibria] == [False, damping >= 0, False]


def test_inputs_move_the_equilibria():
    portrait = phase_portrait(pendulum(0.3), "angle", "angle_dot", BOX, inputs={"torque": 0.5}, trajectories=0)
    found = [e.values["angle"] for e in portrait.equilibria]
    np.testing.assert_allclose(found, [-np.pi - np.arcsin(0.5), np.arcsin(0.5), np.pi - np.arcsin(0.5)], atol=1e-10)
    m = pendulum()
    braked = phase_portrait(m, "angle", "angle_dot", BOX, inputs={"torque": -0.3 * m["angle_dot"]}, trajectories=0)
    assert kinds(braked) == ["saddle", "stable focus", "saddle"]


def test_predators_and_prey_have_a_centre_and_a_saddle():
    known = catalogue.load("lotka_volterra")
    portrait = phase_portrait(known.model, "prey", "predators", ((0, 6), (0, 4)))
    assert kinds(portrait) == ["saddle", "centre"]
    assert portrait.equilibria[1].point == pytest.approx((3.0, 1.5))
    # The frequency of small cycles is sqrt(birth death).
    assert portrait.equilibria[1].eigenvalues[0] == pytest.approx(1j * np.sqrt(1.5 * 3.0))


@pytest.mark.parametrize(("mu", "kind"), [(1.0, "unstable focus"), (3.0, "unstable node")])
def test_van_der_pol_is_unstable_at_rest(mu, kind):
    known = catalogue.load("van_der_pol", mu=mu)
    portrait = phase_portrait(known.model, "x", "x_dot", (-4, 4, -6, 6), trajectories=[(0.1, 0.0)])
    assert kinds(portrait) == [kind]
    # The path drawn from near the origin ends on the limit cycle, whose amplitude is close to 2.
    (path,) = [line for line in portrait.figure.axes[0].lines if line.get_label() == "trajectories"]
    assert np.max(np.abs(path.get_xdata())) == pytest.approx(2.0, abs=0.05)


def test_paths_are_those_of_the_model():
    portrait = phase_portrait(
        pendulum(0.1), "angle", "angle_dot", BOX, inputs={"torque": 0.0}, trajectories=[(1.0, 0.0)], duration=3.0
    )
    (path,) = [line for line in portrait.figure.axes[0].lines if line.get_label() == "trajectories"]
    tr = dd.simulate(pendulum(0.1), 3.0, inputs={"torque": 0.0}, rtol=1e-10)
    times = np.linspace(0.0, 3.0, len(path.get_xdata()))
    np.testing.assert_allclose(path.get_xdata(), tr.at(times)["angle"], atol=1e-5)
    np.testing.assert_allclose(path.get_ydata(), tr.at(times)["angle_dot"], atol=1e-5)


def test_paths_end_outside_the_box():
    m = dd.Model("explosion")
    x = m.state("x", start=0.0)
    y = m.state("y", start=0.0)
    m.equation(m.der(x), 1 + x**2)
    m.equation(m.der(y), y)
    portrait = phase_portrait(m, "x", "y", (-1, 1, -1, 1), trajectories=[(0.0, 0.1)], duration=100.0)
    (path,) = [line for line in portrait.figure.axes[0].lines if line.get_label() == "trajectories"]
    assert path.get_xdata()[-1] == pytest.approx(2.0, abs=1e-6)
    assert kinds(portrait) == []
    assert "no isolated equilibrium in the box" in repr(portrait)


def test_nullclines_lie_where_one_rate_is_zero():
    m = pendulum(0.5)
    portrait = phase_portrait(
        m, "angle", "angle_dot", BOX, inputs={"torque": 0.0}, field=None, nullclines=True, trajectories=0
    )
    first, second = portrait.figure.axes[0].collections
    points = np.concatenate([path.vertices for path in first.get_paths()])
    np.testing.assert_allclose(points[:, 1], 0.0, atol=1e-6)
    points = np.concatenate([path.vertices for path in second.get_paths()])
    np.testing.assert_allclose(points[:, 1], -2 * np.sin(points[:, 0]), atol=1e-2)
    assert portrait.figure.axes[0].get_legend() is not None


@pytest.mark.parametrize("field", ["streamlines", "arrows"])
def test_the_field_is_drawn(field):
    known = catalogue.load("van_der_pol")
    portrait = phase_portrait(known.model, "x", "x_dot", (-3, 3, -3, 3), field=field, trajectories=0)
    (ax,) = portrait.figure.axes
    assert ax.collections
    assert ax.get_xlim() == (-3, 3)
    if field == "arrows":
        quiver = ax.collections[0]
        position, direction = quiver.XY, np.stack([quiver.U, quiver.V], axis=-1)
        x, v = position.T
        right = np.stack([v, (1 - x**2) * v - x], axis=-1)
        moving = np.linalg.norm(right, axis=1) > 1e-9
        direction, right = (part[moving] / np.linalg.norm(part[moving], axis=1)[:, None] for part in (direction, right))
        np.testing.assert_allclose(direction, right, atol=1e-12)


def test_stable_points_are_filled_and_unstable_ones_hollow():
    portrait = phase_portrait(pendulum(0.3), "angle", "angle_dot", BOX, inputs={"torque": 0.0}, trajectories=0)
    marks = {line.get_label(): line.get_markerfacecolor() for line in portrait.figure.axes[0].lines}
    assert marks["stable focus"] == "black"
    assert marks["saddle"] == "white"


def test_into_given_axes_with_units():
    figure, ax = plt.subplots()
    assert phase_portrait(pendulum(), "angle", "angle_dot", BOX, inputs={"torque": 0.0}, ax=ax).figure is figure
    assert ax.get_xlabel() == "angle [rad]"
    assert ax.get_title() == "pendulum"


def test_other_states_are_held_and_said_to_be():
    known = catalogue.load("double_pendulum")
    portrait = phase_portrait(
        known.model, "angle[0]", "angle_dot[0]", (-2, 2, -4, 4), start={"angle": [0.0, 0.0]}, trajectories=1
    )
    assert portrait.notes == ("held, whatever the model does: angle[1] = 0, angle_dot[1] = 0",)
    assert portrait.equilibria[0].point == pytest.approx((0.0, 0.0), abs=1e-10)
    assert kinds(portrait) == ["centre"]
    assert "held" in portrait.figure.axes[0].get_title()


def test_time_is_held_too():
    m = dd.Model("forced")
    x = m.state("x", start=0.0)
    y = m.state("y", start=0.0)
    m.equation(m.der(x), y)
    m.equation(m.der(y), -x - y + m.time)
    m.event("never", x - 100.0, terminal=True)
    portrait = phase_portrait(m, "x", "y", (-3, 3, -3, 3), time=2.0, trajectories=0)
    assert portrait.equilibria[0].point == pytest.approx((2.0, 0.0))
    assert portrait.notes == ("the field changes with time; this is t = 2", "events are not shown")
    table = dd.signal([0.0, 1.0, 3.0], [0.5, 1.0, 0.0])
    moved = phase_portrait(pendulum(0.5), "angle", "angle_dot", BOX, inputs={"torque": table}, time=0.5, trajectories=0)
    assert np.arcsin(0.5) == pytest.approx(moved.equilibria[1].values["angle"])


def message(*arguments, **options):
    with pytest.raises(dd.InputError) as caught:
        phase_portrait(*arguments, **options)
    return str(caught.value)


def test_axes_that_are_no_scalar_states():
    m = catalogue.load("double_pendulum").model
    box = (-1, 1, -1, 1)
    assert message(m, "angle", "angle_dot[0]", box) == (
        "angle cannot be an axis of a phase portrait.\n"
        "  it is a state of 2 elements; the states are angle[0], angle[1], angle_dot[0], angle_dot[1]\n"
        "  Because a phase portrait shows how two scalar states move each other.\n"
        "  Try: x='angle[0]', y='angle[1]'"
    )
    assert "it is not a state" in message(m, "angle_ddot[0]", "angle[0]", box)
    assert "no variable 'angel'" in message(m, "angel", "angle[0]", box)
    assert "Both axes of the phase portrait are the same state." in message(m, "angle[0]", "angle[0]", box)


@pytest.mark.parametrize(
    "box", [None, 3.0, (1, -1, 0, 1), {"angle": (0, 1)}, (0, 1), (0, 1, 0, np.inf), (0, 1, 0, np.nan), "box"]
)
def test_boxes_that_are_none(box):
    text = message(pendulum(), "angle", "angle_dot", box, inputs={"torque": 0.0})
    assert text.startswith("The box of the phase portrait cannot be used.\n  box = ")
    assert 'Try: box={"angle": (-1, 1), "angle_dot": (-1, 1)}, or (-1, 1, -1, 1)' in text


def test_other_arguments_that_mean_nothing():
    def text(**options):
        return message(pendulum(), "angle", "angle_dot", BOX, **{"inputs": {"torque": 0.0}, **options})

    assert "field='lines' is not valid." in text(field="lines")
    assert "The trajectories of the phase portrait cannot be used." in text(trajectories=[(100.0, 0.0)])
    assert "The trajectories of the phase portrait cannot be used." in text(trajectories=-1)
    assert "duration= cannot be used." in text(duration=0.0)
    assert "torque has no value" in text(inputs={})


def test_a_field_that_is_nowhere_finite():
    m = dd.Model("nowhere")
    x = m.state("x", start=0.0)
    y = m.state("y", start=0.0)
    m.equation(m.der(x), np.sqrt(x))
    m.equation(m.der(y), y)
    assert message(m, "x", "y", (-2, -1, -1, 1)).startswith("The field is nowhere finite in the box.\n  x and y of the")
