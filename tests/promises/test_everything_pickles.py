"""Every public result travels to another process by a pickle, and goes on there as it would have here."""

import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def again(value):
    return pickle.loads(pickle.dumps(value))


def cart():
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0, unit="m"), m.state("v", start=0.0), m.input("u")
    k = m.parameter("k", 1.0)
    m.equation([m.der(x), m.der(v)], [v, u - k * x])
    return m, x, v, u


def problem(duration=1.0):
    m, x, v, u = cart()
    ocp = dd.OptimalControl(m, duration=duration, intervals=8)
    ocp.start()
    ocp.finish({"x": 1.0, "v": 0.0})
    ocp.bound(u, -30.0, 30.0)
    ocp.minimise(running=u**2 + 0.01 * v**4, final=0.1 * ocp.duration)
    ocp.subject_to(ca.sumsqr(ca.vertcat(x, v)) <= 20.0, name="speed")
    ocp.subject_to(ocp.integral(u**2) <= 200.0, at="end", name="effort")
    return ocp


def tracking():
    m, x, v, u = cart()
    ocp = dd.OptimalControl(m, duration=1.0, intervals=8)
    ocp.bound(u, -5.0, 5.0)
    ocp.minimise(running=(x - 1) ** 2 + 0.1 * v**2 + 0.01 * u**2)
    return ocp


@pytest.mark.parametrize("duration", [1.0, dd.unknown(1.0, 0.5, 2.0)], ids=["fixed", "free"])
def test_problems_and_plans(duration):
    ocp = problem(duration)
    plan, other = ocp.solve(), again(ocp).solve()
    assert other.objective == pytest.approx(plan.objective, rel=1e-7)
    # The copy goes on being written in the names and symbols of its own model.
    copied = again(ocp)
    copied.bound(copied.model["u"], -8.0, 8.0)
    narrow = copied.solve()
    assert np.abs(narrow["u"]).max() <= 8.0 + 1e-6
    found = again(plan)
    assert found.success
    assert (found.objective, found.duration, found.notes) == (plan.objective, plan.duration, plan.notes)
    for name in ("x", "v", "u"):
        np.testing.assert_array_equal(found[name], plan[name])
    assert found.sensitivity("k")["x"].shape == plan.sensitivity("k")["x"].shape


def test_plans_of_a_model_of_higher_index():
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[0.0, -1.0], rate=[0.0, 0.0])
    push = m.input("push")
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", ca.sumsqr(p) - 1)
    m.generalised_force(p, ca.vertcat(push, 0))
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.start()
    ocp.finish({"p[0]": 0.3})
    ocp.minimise(running=push**2)
    plan = ocp.solve()
    np.testing.assert_array_equal(again(plan)["p"], plan["p"])
    assert again(ocp).solve().objective == pytest.approx(plan.objective, rel=1e-6)


def test_plans_of_phases():
    m = catalogue.load("double_integrator").model
    one, two = (dd.OptimalControl(m, duration=0.5, intervals=6) for _ in range(2))
    one.start()
    two.finish(position=1.0, velocity=0.0)
    for part in (one, two):
        part.minimise(running=m["force"] ** 2)
    phases = dd.phases(one, two)
    plan = phases.solve()
    assert again(phases).solve().objective == pytest.approx(plan.objective, rel=1e-7)
    found = again(plan)
    assert found.success
    np.testing.assert_array_equal(found["position"], plan["position"])
    with pytest.raises(dd.InputError, match="One phase of several"):
        pickle.dumps(plan.phases[0])


@pytest.mark.parametrize("mode", ["real_time", "full"])
def test_controllers_go_on_from_their_plan(mode):
    ocp = tracking()
    controller = dd.Controller(ocp, every=0.125, mode=mode)
    new = again(controller)
    np.testing.assert_allclose(new([0.0, 0.0]), controller([0.0, 0.0]), rtol=1e-6)
    travelled = again(controller)
    # What is written into the problem later is not the controller's.
    ocp.bound(ocp.model["u"], -0.1, 0.1)
    assert (travelled.work.calls, travelled.status) == (1, "solved")
    np.testing.assert_allclose(travelled.prediction["x"], controller.prediction["x"], rtol=1e-12)
    here, there = controller([0.03, 0.4], t=0.125), travelled([0.03, 0.4], t=0.125)
    np.testing.assert_allclose(there, here, rtol=1e-6, atol=1e-9)
    assert np.abs(again(controller)([0.1, 0.4], t=0.25)).max() > 0.2


@pytest.mark.parametrize("kind", ["ekf", "mhe"])
def test_estimators_go_on(kind):
    m, *_ = cart()
    options = {"start_covariance": 1.0, "process_noise": [0.1, 1.0], "measurement_noise": 0.01, "every": 0.1}
    estimator = dd.Estimator(m, ["x"], kind=kind, **options)
    for k in range(3):
        estimator([0.1 * k], [0.5])
    other = again(estimator)
    np.testing.assert_array_equal(other.state, estimator.state)
    np.testing.assert_allclose(other([0.33], [0.0]), estimator([0.33], [0.0]), rtol=1e-7)
    np.testing.assert_allclose(other.covariance, estimator.covariance, rtol=1e-7)


def test_derivations_read_the_same():
    d = dd.derive(catalogue.load("cart_pendulum").model)
    other = again(d)
    assert str(other) == str(d)
    assert other.to_latex() == d.to_latex()
    assert [step.check for step in other] == [step.check for step in d]


def test_branches_are_followed_on():
    m = dd.Model("fold")
    y, mu, nu = m.state("y", start=-1.0), m.parameter("mu", -1.0), m.parameter("nu", 0.0)
    m.equation(m.der(y), mu + nu * y + y * y)
    branch = dd.branch(m, "mu", (-1.0, 0.5))
    other = again(branch)
    np.testing.assert_array_equal(other["y"], branch["y"])
    assert str(other) == str(branch)
    fold, here = (b.points[0].follow("nu", (-0.5, 0.5)) for b in (other, branch))
    np.testing.assert_allclose(fold["mu"], here["mu"])


def test_boundary_values_and_storages():
    m = dd.Model("cable")
    y, load = m.state("y", start=0.0, rate=0.0), m.parameter("load", 2.0)
    m.equation(m.der(m.der(y)), load)
    sol = dd.boundary_value(m, 1.0, lambda at: [at(0)["y"], at(1)["y"] - 1])
    sol.at(0.3)
    other = again(sol)
    assert float(other.at(0.3)["y"]) == float(sol.at(0.3)["y"])
    assert (other.error, other.intervals, str(other)) == (sol.error, sol.intervals, str(sol))
    m = dd.Model("pendulum")
    angle, torque = m.coordinate("angle", start=0.1, rate=0.0), m.input("torque")
    m.kinetic_energy(0.5 * m.rate(angle) ** 2)
    m.potential_energy(-9.81 * ca.cos(angle))
    m.generalised_force(angle, torque)
    found = dd.passivity(m)
    copy = again(found)
    assert (copy.passive, copy.sentence, str(copy.storage)) == (found.passive, found.sentence, str(found.storage))
    linear = dd.passivity(dd.LTI([[-1.0]], [[1.0]], [[1.0]]))
    np.testing.assert_array_equal(again(linear).storage, linear.storage)


@pytest.mark.wide
def test_branches_of_orbits_and_derivatives_of_contacts():
    m = dd.Model("oscillator")
    x, y, mu = m.state("x", start=2.0), m.state("y", start=0.0), m.parameter("mu", 1.0)
    m.equation([m.der(x), m.der(y)], [y, mu * (1 - x**2) * y - x])
    branch = dd.branch(dd.periodic(m), "mu", (1.0, 1.1))
    other = again(branch)
    np.testing.assert_array_equal(other["x"], branch["x"])
    assert other.at(0).period == branch.at(0).period
    m = dd.Model("block")
    m.gravity([0, -9.81])
    mu = m.parameter("mu", 0.3)
    pose = {"position": [0, 0.1], "velocity": [3, 0], "rotation": 0.0, "angular_velocity": 0.0}
    b = m.body("b", mass=2.0, inertia=0.1, orientation="planar", **pose)
    b.shape("box", size=[0.4, 0.2])
    m.contact(b, dd.ground, friction=mu)
    sens = dd.sensitivities(m, 1.5, wrt="mu")
    for here in (sens, sens.at(0.5), sens.at([0.2, 1.0])):
        there = again(here)
        np.testing.assert_array_equal(there.by_parameters, here.by_parameters)
        np.testing.assert_array_equal(there.value, here.value)
