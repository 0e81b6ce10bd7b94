"""RATTLE and Lobatto IIIA–IIIB: orders, constraints without projection, energy over long runs, refusals."""

import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import _core, catalogue
from daedalus.simulation.plant.lobatto_step import lobatto_pair
from daedalus.simulation.result.records_of_methods import MethodAsked, NotSymplectic
from daedalus.simulation.run.settings import settings_of

ORDERS = {"rattle": 2, "lobatto4": 4, "lobatto6": 6}
every_method = pytest.mark.parametrize("method", ORDERS)
GRAVITY = 9.81


def pendulum(start=(1.0, 0.0), rate=(0.0, 0.0)):
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=list(start), rate=list(rate))
    m.kinetic_energy(0.5 * 2.0 * ca.sumsqr(m.rate(q)))
    m.potential_energy(2.0 * GRAVITY * q[1])
    m.constraint("rod", 0.5 * (ca.sumsqr(q) - 1.0))
    m.output("energy", ca.sumsqr(m.rate(q)) + 2.0 * GRAVITY * q[1])
    m.output("across", ca.dot(q, m.rate(q)))
    return m


def double_pendulum(constrained=False):
    """Two masses on two rods by angles; where it is constrained, the tip runs along a parabola."""
    m = dd.Model("double pendulum")
    angles, rates = np.array([0.5, 1.1]), np.array([0.3, -0.4])
    sines, low = np.sum(np.sin(angles)), -np.sum(np.cos(angles))
    if constrained:
        slope = np.cos(angles) - 0.6 * low * np.sin(angles)
        rates[1] = -rates[0] * slope[0] / slope[1]
    a = m.coordinate("a", start=angles[0], rate=rates[0])
    b = m.coordinate("b", start=angles[1], rate=rates[1])
    x, y = ca.sin(a) + ca.sin(b), -ca.cos(a) - ca.cos(b)
    va, vb = m.rate(a), m.rate(b)
    kinetic = va**2 + 0.5 * vb**2 + va * vb * ca.cos(a - b)
    potential = -GRAVITY * (2 * ca.cos(a) + ca.cos(b))
    m.kinetic_energy(kinetic)
    m.potential_energy(potential)
    m.output("energy", kinetic + potential)
    m.output("momentum", ca.vertcat(2 * va + vb * ca.cos(a - b), vb + va * ca.cos(a - b)))
    if constrained:
        m.constraint("guide", x - sines - 0.3 * (y**2 - low**2))
    return m


def measured_orders(model, method, steps, end, names, reference):
    errors = []
    for step in steps:
        tr = dd.simulate(model, end, method=method, step=step)
        assert tr.success
        errors.append([np.max(np.abs(tr[name][-1] - reference[name][-1])) for name in names])
    errors = np.array(errors)
    return np.log(errors[:-1] / errors[1:]) / np.log(np.array(steps[:-1]) / np.array(steps[1:]))[:, None]


# -- order and constraints -------------------------------------------------------------------------------------


@every_method
def test_order_of_the_planar_pendulum_in_positions_velocities_and_rod_force(method):
    m = pendulum()
    reference = dd.simulate(m, 2.0, method="dop853", rtol=1e-13, atol=1e-14)
    steps = [0.05, 0.025] if method == "lobatto6" else [0.04, 0.02, 0.01]
    orders = measured_orders(m, method, steps, 2.0, ("q", "q_dot", "rod"), reference)
    assert orders == pytest.approx(ORDERS[method], abs=0.15)


@pytest.mark.parametrize("method", ["rattle", "lobatto4"])
def test_order_of_the_pendulum_in_space(method):
    known = catalogue.load("pendulum_3d")
    m, still = known.model, {"force": np.zeros(3)}
    reference = dd.simulate(m, 2.0, inputs=still, method="dop853", rtol=1e-13, atol=1e-14)
    errors = []
    for step in (0.04, 0.02):
        tr = dd.simulate(m, 2.0, inputs=still, method=method, step=step)
        errors.append([np.max(np.abs(tr[k][-1] - reference[k][-1])) for k in ("position", "position_dot", "cable")])
        # A quadratic invariant of a symmetry is kept to rounding (Noether's theorem in the discrete).
        assert np.ptp(tr["spin"]) < 1e-13
    assert np.log2(np.divide(*errors)) == pytest.approx(ORDERS[method], abs=0.3)


@every_method
def test_both_constraints_hold_to_rounding_at_every_step(method):
    tr = dd.simulate(pendulum(), 20.0, method=method, step=0.02)
    radius = np.sum(tr["q"] ** 2, axis=1)
    assert np.max(np.abs(radius - 1.0)) < 1e-14
    assert np.max(np.abs(tr["across"])) < 1e-14
    assert tr.work.steps == 1000
    assert tr.method == method


@every_method
def test_a_kinetic_energy_that_depends_on_positions_with_and_without_a_constraint(method):
    for constrained in (False, True):
        m = double_pendulum(constrained)
        reference = dd.simulate(m, 1.0, method="dop853", rtol=1e-13, atol=1e-14)
        errors = []
        for step in (0.1, 0.05) if method == "lobatto6" else (0.04, 0.02):
            tr = dd.simulate(m, 1.0, method=method, step=step)
            errors.append(max(abs(float(tr[k][-1] - reference[k][-1])) for k in ("a", "b", "a_dot", "b_dot")))
        assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[method], abs=0.35)


def test_two_stages_without_a_constraint_are_stoermer_and_verlet():
    m = dd.Model("oscillator")
    x = m.coordinate("x", start=1.0, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(x) ** 2)
    m.potential_energy(0.5 * x**2 + 0.1 * x**4)
    tr = dd.simulate(m, 1.0, method="rattle", step=0.1)
    place, speed = 1.0, 0.0
    for k in range(11):
        assert tr["x"][k] == pytest.approx(place, abs=1e-14)
        assert tr["x_dot"][k] == pytest.approx(speed, abs=1e-14)
        half = speed - 0.05 * (place + 0.4 * place**3)
        place += 0.1 * half
        speed = half - 0.05 * (place + 0.4 * place**3)


# -- what symplectic methods are for -----------------------------------------------------------------------------


def long_run(model, method, step, count, samples):
    """The rows of a run of very many steps, at some of them only."""
    begin = dd.simulate(model, step, method=method, step=step)
    settings = settings_of(begin.system, method, 1e-6, 1e-9, step, None, None, None, None)
    end = count * step
    times = step * np.round(np.linspace(0, count, samples + 1))
    first, still = begin._x[0], np.zeros(0)
    call = {**settings.call, "save_at": times, "keep_steps": False}
    run = _core.integrate(settings.rhs, settings.core_method, 0.0, end, first, still, still, **call)
    assert run.status == "finished"
    assert run.steps == count
    return run


@pytest.mark.wide
def test_the_energy_of_the_pendulum_stays_bounded_over_a_million_steps():
    # About 4600 swings; the energy error is 7e-3 within each of them.
    run = long_run(pendulum(), "rattle", 0.01, 1_000_000, 2000)
    q, v = run.x[:, :2], run.x[:, 2:4]
    energy = np.sum(v**2, axis=1) + 2.0 * GRAVITY * q[:, 1]
    swing = np.ptp(energy[:1000])
    assert 5e-3 < swing < 1e-2
    assert np.ptp(energy) < 1.05 * swing
    slope = np.polyfit(run.t, energy, 1)[0]
    assert abs(slope) * run.t[-1] < 0.02 * swing
    assert np.max(np.abs(np.sum(q**2, axis=1) - 1.0)) < 1e-14
    assert np.max(np.abs(np.sum(q * v, axis=1))) < 1e-14


def test_the_energy_of_a_four_bar_linkage_stays_bounded():
    known = catalogue.load("four_bar")
    tr = dd.simulate(known.model, 20.0, method="rattle", step=2e-3)
    energy = tr["energy"] - tr["energy"][0]
    early, late = energy[tr.time < 5.0], energy[tr.time > 15.0]
    assert np.ptp(late) < 1.2 * np.ptp(early)
    assert abs(np.mean(late) - np.mean(early)) < 0.1 * np.ptp(early)
    # The crank has turned by 200 rad, so its sine is rounded 200 times as much.
    assert max(tr.drift().values()) < 5e-14


@every_method
def test_there_and_back_again(method):
    m = pendulum(rate=(0.0, 2.0))
    there = dd.simulate(m, 5.0, method=method, step=0.01)
    back = dd.simulate(m, (5.0, 0.0), start=there.at(5.0), method=method, step=0.01)
    assert back["q"][-1] == pytest.approx(there["q"][0], abs=1e-12)
    assert back["q_dot"][-1] == pytest.approx(there["q_dot"][0], abs=1e-12)


def canonical_jacobian(model, method, step, center):
    """∂(q, π)/∂(q, π) of a few steps of the double pendulum by central differences."""

    def flow(point):
        a, b = point[:2]
        mass = np.array([[2.0, np.cos(a - b)], [np.cos(a - b), 1.0]])
        rate = np.linalg.solve(mass, point[2:])
        start = {"a": a, "b": b, "a_dot": rate[0], "b_dot": rate[1]}
        tr = dd.simulate(model, 5 * step, start, method=method, step=step)
        return np.array([tr["a"][-1], tr["b"][-1], *tr["momentum"][-1]])

    eps, eye = 1e-3, np.eye(4)
    # Richardson: fourth order in eps.
    coarse = [(flow(center + eps * e) - flow(center - eps * e)) / (2 * eps) for e in eye]
    fine = [(flow(center + eps / 2 * e) - flow(center - eps / 2 * e)) / eps for e in eye]
    return (4 * np.array(fine).T - np.array(coarse).T) / 3


@every_method
def test_the_step_is_symplectic_where_the_mass_matrix_depends_on_positions(method):
    J = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    D = canonical_jacobian(double_pendulum(), method, 0.1, np.array([0.5, 1.1, 0.3, -0.4]))
    assert np.max(np.abs(D.T @ J @ D - J)) < 1e-8
    assert np.max(np.abs(D - np.eye(4))) > 0.1


def test_the_pair_satisfies_the_symplectic_condition_and_the_published_table():
    pair = lobatto_pair(3)
    assert pair.hat.tolist() == pytest.approx(np.array([[1, -1, 0], [1, 2, 0], [1, 5, 0]]) / 6)
    for stages in (2, 3, 4, 5):
        pair = lobatto_pair(stages)
        condition = pair.b[:, None] * pair.hat + (pair.b[:, None] * pair.a).T - np.outer(pair.b, pair.b)
        assert np.max(np.abs(condition)) < 1e-16
        assert not pair.hat[:, -1].any()


# -- mechanisms, inputs, events --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["four_bar", "slider_crank"])
def test_mechanisms_of_planar_bodies_reach_their_reference(name):
    known = catalogue.load(name)
    errors = []
    for step in (4e-3, 2e-3):
        tr = dd.simulate(known.model, known.span, method="lobatto4", step=step)
        errors.append(max(known.reference.error(key, tr[key][-1]) for key in known.reference))
        assert max(tr.drift().values()) < 1e-14
    assert errors[1] < 1e-6
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.4)


def test_multipliers_against_the_reduced_model():
    known = catalogue.load("slider_crank")
    names = known.model.freeze().labels["z"]
    reference = dd.simulate(known.model, 0.5, method="dop853", rtol=1e-11, atol=1e-12)
    tr = dd.simulate(known.model, 0.5, method="rattle", step=1e-3)
    for name in names:
        exact = reference.at(tr.time)[name]
        assert np.max(np.abs(tr[name] - exact)) < 1e-2 * max(1.0, np.max(np.abs(exact))), name


def test_a_moving_suspension_and_an_input_that_ramps_keep_the_order():
    m = dd.Model("crane")
    q = m.coordinate("q", 2, start=[0.0, -1.0], rate=[0.0, 0.0])
    pull, t = m.input("pull"), m.time
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(GRAVITY * q[1])
    m.generalised_force(q, ca.vertcat(pull, 0.0))
    m.constraint("rope", 0.5 * ((q[0] - 0.1 * t**2) ** 2 + q[1] ** 2 - 1.0))
    ramp = {"pull": dd.signal([0.0, 0.5, 2.0], [0.0, 1.0, -1.0], kind="linear")}
    reference = dd.simulate(m, 1.0, inputs=ramp, method="dop853", rtol=1e-12, atol=1e-13)
    for method, order in (("rattle", 2), ("lobatto4", 4)):
        errors = []
        for step in (0.05, 0.025):
            tr = dd.simulate(m, 1.0, inputs=ramp, method=method, step=step)
            errors.append(np.max(np.abs(tr["q"][-1] - reference["q"][-1])))
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


def test_damping_and_feedback_keep_the_order_and_the_loss_is_said():
    m = dd.Model("damped")
    x = m.coordinate("x", start=1.0, rate=0.0)
    push = m.input("push")
    m.kinetic_energy(0.5 * m.rate(x) ** 2)
    m.potential_energy(0.5 * x**2)
    m.generalised_force(x, push)
    loop = {"push": -0.3 * m.rate(x)}
    reference = dd.simulate(m, 2.0, inputs=loop, rtol=1e-12, atol=1e-13)
    errors = [
        abs(float(dd.simulate(m, 2.0, inputs=loop, method="rattle", step=h)["x"][-1] - reference["x"][-1]))
        for h in (0.1, 0.05)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.2)
    lossy = dd.simulate(m, 1.0, inputs=loop, method="rattle", step=0.1)
    free = dd.simulate(m, 1.0, inputs={"push": 0.0}, method="rattle", step=0.1)
    assert lossy.records == (MethodAsked("rattle", True), NotSymplectic())
    assert free.records == (MethodAsked("rattle", True),)


def test_a_pendulum_that_hits_a_stop_is_turned_back_on_its_circle():
    m = pendulum()
    q, v = m["q"], m["q_dot"]
    m.event("stop", q[0] + 0.3, direction=-1, reset={"q_dot": -0.9 * v})
    tr = dd.simulate(m, 3.0, method="lobatto4", step=0.01)
    other = dd.simulate(m, 3.0, method="dop853", rtol=1e-10)
    assert len(tr.events) == len(other.events) >= 2
    for one, two in zip(tr.events, other.events):
        assert one.time == pytest.approx(two.time, abs=1e-6)
        assert abs(one.before["q"][0] + 0.3) < 1e-12
    assert np.max(np.abs(np.sum(tr["q"] ** 2, axis=1) - 1.0)) < 1e-14
    # Behind the stop the rod force follows from the new velocity at once.
    assert tr["rod"][-1] == pytest.approx(other["rod"][-1], rel=1e-5)


def test_between_the_steps_positions_velocities_and_accelerations_agree():
    tr = dd.simulate(pendulum(), 2.0, method="lobatto6", step=0.02)
    reference = dd.simulate(pendulum(), 2.0, method="dop853", rtol=1e-12, atol=1e-13)
    between = tr.time[:-1] + 0.37 * np.diff(tr.time)
    one, two = tr.at(between), reference.at(between)
    assert np.max(np.abs(one["q"] - two["q"])) < 1e-8
    assert np.max(np.abs(one["q_dot"] - two["q_dot"])) < 1e-6
    assert np.max(np.abs(one["q_ddot"] - two["q_ddot"])) < 1e-4


def test_a_prepared_run_is_the_same_run():
    m = pendulum()
    run = dd.prepare(m, 1.0, method="rattle", step=0.05)
    assert np.array_equal(run(), dd.simulate(m, 1.0, method="rattle", step=0.05)._x[:, :4])


def test_a_sweep_over_the_driving_of_a_pendulum():
    m = catalogue.load("pendulum_3d").model
    push = {"force": ca.vertcat(0.1 * ca.sin(m.time), 0.0, 0.0)}
    found = dd.sweep(m, 1.0, {"mass": [1.0, 2.0]}, inputs=push, method="rattle", step=0.01, save_at=[1.0])
    for k, mass in enumerate((1.0, 2.0)):
        tr = dd.simulate(m, 1.0, inputs=push, parameters={"mass": mass}, method="rattle", step=0.01)
        assert np.array_equal(np.asarray(found["position"][k]).ravel(), tr["position"][-1])


# -- refusals --------------------------------------------------------------------------------------------------


def no_mechanics():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    return m


def with_a_state():
    m = pendulum()
    heat = m.state("heat", start=0.0)
    m.equation(m.der(heat), 1.0)
    return m


def in_space():
    m = dd.Model("top")
    m.body("rotor", 1.0, np.diag([1.0, 2.0, 3.0]), angular_velocity=[0.1, 2.0, 0.0])
    return m


def relativistic():
    m = dd.Model("fast")
    x = m.coordinate("x", start=0.0, rate=0.1)
    m.kinetic_energy(-ca.sqrt(1 - m.rate(x) ** 2))
    m.potential_energy(0.5 * x**2)
    return m


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (no_mechanics, "The model 'decay' has no mechanics."),
        (with_a_state, "'pendulum' has heat beside its positions, velocities and constraint forces"),
        (lambda: catalogue.load("rolling_disc").model, "A symplectic method does not take velocity constraints."),
        (in_space, "turns with rotor.angular_velocity, which is not its rate"),
        (relativistic, "The kinetic energy of 'fast' is not quadratic in the velocities."),
    ],
)
def test_what_has_no_momenta_is_refused(model, text):
    with pytest.raises(dd.InputError) as error:
        dd.simulate(model(), 1.0, method="rattle", step=0.01)
    assert text in str(error.value)
    assert "Try: " in str(error.value)


def test_a_snapshot_knows_the_momenta_of_its_model():
    one, two = (dd.simulate(m, 0.5, method="rattle", step=0.01) for m in (pendulum(), pendulum().freeze()))
    assert np.array_equal(one._x, two._x)


def test_a_step_a_model_and_tabulated_inputs_are_asked_for():
    with pytest.raises(dd.InputError, match="The method 'rattle' needs a step"):
        dd.simulate(pendulum(), 1.0, method="rattle")
    with pytest.raises(dd.InputError, match="A symplectic method needs the Model"):
        dd.simulate(pickle.loads(pickle.dumps(pendulum().freeze())), 1.0, method="rattle", step=0.01)
    m = catalogue.load("pendulum_3d").model
    with pytest.raises(dd.InputError, match="The method 'lobatto4' does not accept Python functions"):
        dd.simulate(m, 1.0, inputs={"force": lambda t: [float(str(t))] * 3}, method="lobatto4", step=0.01)


def test_a_step_too_long_for_the_motion_ends_the_run_with_the_reason():
    tr = dd.simulate(pendulum(rate=(0.0, 100.0)), 1.0, method="rattle", step=0.5)
    assert not tr.success
    assert tr.status == "newton_failed"


def test_redundant_constraints_are_told_by_name():
    """The refusal said that the model had no mechanics."""
    m = dd.Model("two rods in one")
    q = m.coordinate("q", 2, start=[0.6, -0.8], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    m.constraint("again", 2 * (ca.sumsqr(q) - 1))
    with pytest.raises(dd.InputError, match="needs independent constraints") as refused:
        dd.simulate(m, 1.0, method="rattle", step=0.01)
    assert refused.value.facts == ["again follows from the others"]
