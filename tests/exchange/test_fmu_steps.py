"""FMUs whose steps have one length, mechanisms that are reset, and dry frictions: equal to `dd.simulate`."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.exchange.fmu.model_description import own_platform
from daedalus.exchange.fmu.prebuilt_model import runtimes

pytestmark = pytest.mark.skipif(own_platform() not in runtimes(), reason="the core was built without the FMU runtime")


def oscillator():
    m = dd.Model("oscillator")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -(x**3) - 0.1 * v)
    return m


def swinging_into(written):
    """A pendulum of index 3 that a wall throws back, with all of its reset written, or a part of it."""
    m = dd.Model("pendulum at a wall")
    q = m.coordinate("q", 2, start=[0.8, -0.6])
    v = m.rate(q)
    m.kinetic_energy(0.5 * (v[0] ** 2 + v[1] ** 2))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", q[0] ** 2 + q[1] ** 2 - 1)
    m.event("hit", q[0] + 0.2, direction=-1, reset={f"q_dot[{k}]": -0.6 * v[k] for k in range(written)})
    return m


def stick_slip(static):
    """Two masses on each other and on the ground, driven: both frictions stick and slip."""
    m = dd.Model("two masses")
    x, v = m.state("x", 2, start=[0.0, 0.3]), m.state("v", 2, start=[0.0, 0.0])
    ground = m.friction("ground", v[0], kinetic=0.4, static=static)
    between = m.friction("between", v[1] - v[0], kinetic=0.2)
    m.equation(m.der(x), v)
    drive = 1.2 * ca.sin(2 * m.time)
    m.equation(m.der(v), [-x[0] + ground - between, drive - 2 * x[1] + between])
    return m


def braked():
    """Two inertias with different speeds that a clock joins by a brake: a discrete variable sets its level."""
    m = dd.Model("braked")
    w = m.state("w", 2, start=[3.0, -1.0])
    pressed = m.discrete("pressed", start=0.0)
    brake = m.friction("brake", w[0] - w[1], kinetic=2.0 * pressed, static=2.5 * pressed)
    m.equation(m.der(w), [0.5 + brake, -0.5 * brake])
    m.every(0.5, {"pressed": ca.if_else(m.time < 0.75, 1.0, 0.0)})
    return m


def imported(model, folder, kind, labels, duration, **options):
    """The end of a run of our FMU in our importer."""
    path = folder / "unit.fmu"
    dd.exchange.fmu(model, path, version=3, compiler=False, **{"rtol": 1e-9, **options})
    more = {"step": duration / 40} if kind == "co_simulation" else {}
    part = dd.exchange.load_fmu(path, kind=kind, trusted=True, variables=labels, **more)
    tr = dd.simulate(part, duration, **({} if kind == "co_simulation" else {"rtol": 1e-9, "atol": 1e-11}))
    return np.array([tr[label.replace("[", "_").replace("]", "")][-1] for label in labels])


def test_fixed_steps_are_those_of_the_tableau(tmp_path):
    m = oscillator()
    written = dd.exchange.fmu(m, tmp_path / "o.fmu", method="rk4", step=0.025, kind="co_simulation", compiler=False)
    assert "fixed steps of 0.025 s" in str(written)
    tr = dd.simulate(dd.exchange.load_fmu(tmp_path / "o.fmu", step=0.1, trusted=True), 1.0)
    own = dd.simulate(m, 1.0, method="rk4", step=0.025)
    assert tr["x"][-1] == pytest.approx(own["x"][-1], rel=1e-14)
    # A communication step that is no multiple ends with a shorter one.
    other = dd.simulate(dd.exchange.load_fmu(tmp_path / "o.fmu", step=0.03, trusted=True), 0.03)
    x = np.array([1.0, 0.0])
    flow = [dd.flow(m, step=h, method="rk4") for h in (0.025, 0.005)]
    for step in flow:
        x = step(x).full().ravel() if step.n_in() == 1 else np.array(step(x, [], []).full()).ravel()
    assert other["x"][-1] == pytest.approx(x[0], rel=1e-14)


def reactions():
    """Robertson's, very stiff a microsecond behind the start."""
    return catalogue.load("robertson").model


def bouncing():
    m = dd.Model("bouncing")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("ground", h, direction=-1, reset={"v": -0.8 * v})
    return m


def rod():
    """Index 3."""
    m = dd.Model("rod")
    q = m.coordinate("q", 2, start=[0.8, -0.6])
    v = m.rate(q)
    m.kinetic_energy(0.5 * (v[0] ** 2 + v[1] ** 2))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", q[0] ** 2 + q[1] ** 2 - 1)
    return m


def junction():
    """x' and z by iteration."""
    m = dd.Model("junction")
    x, z = m.state("x", start=1.0), m.algebraic("z")
    m.equation(m.der(x), -z + ca.sin(20 * m.time))
    m.equation(z + 1e-3 * (ca.exp(5 * z) - 1), x)
    return m


@pytest.mark.parametrize(("made", "end"), [(reactions, 40.0), (bouncing, 1.5), (rod, 2.0), (junction, 1.0)])
def test_backward_differentiation_inside(made, end, tmp_path):
    m = made()
    labels = list(m.freeze().labels["x"])
    found = imported(m, tmp_path, "co_simulation", labels, end, method="bdf", rtol=1e-7)
    tr = dd.simulate(m, end, rtol=1e-10, atol=1e-13)
    own = np.array([float(np.ravel(tr[label])[-1]) for label in labels])
    np.testing.assert_allclose(found, own, rtol=0, atol=100 * 1e-7 * np.abs(own).max())


def test_backward_differentiation_chooses_its_steps(tmp_path):
    with pytest.raises(dd.InputError, match="BDF chooses its steps itself"):
        dd.exchange.fmu(oscillator(), tmp_path / "it.fmu", method="bdf", step=1e-3)


@pytest.mark.parametrize("step", [0.0, -1e-3, np.inf, "fast"])
def test_lengths_of_steps_are_positive(step, tmp_path):
    with pytest.raises(dd.InputError, match="step must be a positive number"):
        dd.exchange.fmu(oscillator(), tmp_path / "o.fmu", step=step)


@pytest.mark.parametrize("kind", ["co_simulation", "model_exchange"])
@pytest.mark.parametrize("written", [1, 2])
def test_velocities_behind_a_reset_obey_the_constraints(written, kind, tmp_path):
    m = swinging_into(written)
    labels = ["q[0]", "q[1]", "q_dot[0]", "q_dot[1]"]
    end = imported(m, tmp_path, kind, labels, 2.0)
    own = dd.simulate(m, 2.0, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(end, [*own["q"][-1], *own["q_dot"][-1]], atol=1e-6)
    assert abs(end[:2] @ end[2:]) < 1e-7


def test_a_reset_of_one_velocity_moves_the_others_by_the_least_impulse(tmp_path):
    m = dd.Model("three masses on a bar")
    x, weights = m.coordinate("x", 3, start=[0.0, 0.0, 0.0], rate=[1.0, 1.0, 1.0]), [1.0, 2.0, 4.0]
    v = m.rate(x)
    m.kinetic_energy(sum(0.5 * w * v[k] ** 2 for k, w in enumerate(weights)))
    m.constraint("level", x[0] - 2 * x[1] + x[2])
    m.event("hit", x[0] - 0.5, direction=1, reset={"x_dot[0]": -1.0})
    end = imported(m, tmp_path, "co_simulation", ["x_dot[0]", "x_dot[1]", "x_dot[2]"], 1.0)
    # v₂ and v₃ move along M⁻¹ (-2, 1) until -1 - 2 v₂ + v₃ = 0.
    impulse = 2.0 / (4 / 2.0 + 1 / 4.0)
    np.testing.assert_allclose(end, [-1.0, 1.0 - 2 * impulse / 2.0, 1.0 + impulse / 4.0], atol=1e-9)
    own = dd.simulate(m, 1.0, rtol=1e-10)
    np.testing.assert_allclose(end, own["x_dot"][-1], atol=1e-8)


def test_a_reset_of_a_position_that_a_constraint_holds_is_refused(tmp_path):
    m = swinging_into(0)
    m.event("jump", m.time - 0.1, direction=1, reset={"q[0]": 0.1})
    with pytest.raises(dd.InputError) as caught:
        dd.exchange.fmu(m, tmp_path / "p.fmu")
    assert str(caught.value).splitlines() == [
        "The model 'pendulum at a wall' cannot be an FMU.",
        "  jump assigns q[0], on which constraints depend",
        "  Because the library inside makes velocities of mechanisms consistent behind a reset, and no other states.",
        "  Try: a reset of velocities, or minimal coordinates",
    ]


@pytest.mark.parametrize("kind", ["co_simulation", "model_exchange"])
@pytest.mark.parametrize("static", [0.4, 0.5])
def test_frictions_stick_and_slip(static, kind, tmp_path):
    m = stick_slip(static)
    end = imported(m, tmp_path, kind, ["x[0]", "x[1]", "v[0]", "v[1]"], 6.0)
    own = dd.simulate(m, 6.0, rtol=1e-10, atol=1e-12)
    assert len(own.events) >= 5
    np.testing.assert_allclose(end, [*own["x"][-1], *own["v"][-1]], atol=2e-7)


@pytest.mark.parametrize("kind", ["co_simulation", "model_exchange"])
def test_a_brake_that_a_clock_presses(kind, tmp_path):
    m = braked()
    end = imported(m, tmp_path, kind, ["w[0]", "w[1]", "brake.mode"], 2.0)
    own = dd.simulate(m, 2.0, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(end, [*own["w"][-1], own["brake.mode"][-1]], atol=1e-7)


def test_what_sticks_does_not_creep(tmp_path):
    m = dd.Model("block on a spring")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x + m.friction("floor", v, kinetic=0.1))
    end = imported(m, tmp_path, "co_simulation", ["x", "v", "floor.mode"], 40.0)
    # Half a swing takes 0.2 off the amplitude: 1, -0.8, 0.6, -0.4, 0.2, 0, where it sticks.
    np.testing.assert_allclose(end, [0.0, 0.0, 0.0], atol=1e-7)
    assert end[1] == 0.0


def test_contacts_are_refused(tmp_path):
    m = dd.Model("ball on a table")
    h = m.coordinate("h", start=1.0, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(h) ** 2)
    m.potential_energy(9.81 * h)
    m.unilateral("table", h, restitution=0.5)
    with pytest.raises(dd.InputError, match=r"table\.change is a contact"):
        dd.exchange.fmu(m, tmp_path / "b.fmu")


def test_conditions_that_are_no_events_are_listed(tmp_path):
    m = dd.Model("tank")
    h = m.state("h", start=1.0)
    m.equation(m.der(h), ca.if_else(h > 0.5, -1.0, -2.0))
    written = dd.exchange.fmu(m, tmp_path / "t.fmu")
    assert written.notes == ("conditions in the equations are no events, steps pass them by their error: h > 0.5",)
    assert dd.exchange.fmu(oscillator(), tmp_path / "o.fmu").notes == ()


def hanging(y):
    """A pendulum in Cartesian coordinates: x is given, y as told; without a value it is found from zero."""
    m = dd.Model("hanging")
    x, v, w = m.state("x", start=0.6), m.state("v", start=0.0), m.state("w", start=0.0)
    y = m.state("y", **y)
    force, length = m.algebraic("force"), m.parameter("length", 1.0)
    m.equation(m.der(x), v)
    m.equation(m.der(y), w)
    m.equation(m.der(v), -2 * force * x)
    m.equation(m.der(w), -2 * force * y - 9.81)
    m.equation(x**2 + y**2, length**2)
    return m


@pytest.mark.parametrize("kind", ["co_simulation", "model_exchange"])
@pytest.mark.parametrize("version", [2, 3])
def test_open_start_values_follow_what_an_importer_sets(kind, version, tmp_path):
    m = hanging({})
    path = dd.exchange.fmu(m, tmp_path / "it.fmu", version=version, compiler=False, rtol=1e-9).path
    more = {"step": 0.05} if kind == "co_simulation" else {}
    fmu = dd.exchange.load_fmu(path, kind=kind, trusted=True, **more)
    own = dd.simulate(m, 0.5, parameters={"length": 1.3}, rtol=1e-10, atol=1e-12)
    tr = dd.simulate(fmu, 0.5, parameters={"length": 1.3})
    for name in ("x", "y"):
        assert float(tr[name][-1]) == pytest.approx(float(own[name][-1]), abs=5e-5)


@pytest.mark.parametrize("kind", ["co_simulation", "model_exchange"])
def test_start_values_that_contradict_the_constraints_are_an_error(kind, tmp_path):
    path = dd.exchange.fmu(hanging({"start": -0.8}), tmp_path / "it.fmu", compiler=False).path
    fmu = dd.exchange.load_fmu(path, kind=kind, trusted=True)
    with pytest.raises(dd.DaedalusError, match="Initialization"):
        dd.simulate(fmu, 0.5, parameters={"length": 1.3}, on_stop="raise")
