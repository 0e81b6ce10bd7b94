"""Newton's method, single steps, work and precision, passivity: on show, against what is known."""

import casadi as ca
import numpy as np
import pytest
from tests.support import lecture_models as lectures

import daedalus as dd
from daedalus import catalogue
from daedalus.derivations.formula.agreement import largest_difference
from daedalus.integrators.tableaux.named_tableaux import NOT_TABLEAUX


@pytest.mark.document("002", "Newton's method converges quadratically near a root", "dd.newton")
def test_newton_converges_quadratically_near_a_root():
    n = dd.newton(lambda x: [x[0] ** 2 + x[1] ** 2 - 4, x[0] - x[1]], [1.0, 2.0])
    assert n.converged
    assert n.x == pytest.approx([np.sqrt(2), np.sqrt(2)])
    assert n.iterates.shape == (len(n.residuals), 2)
    assert dd.newton(lambda x: x**2 - 2, 1.0).rates[-1] == pytest.approx(2.0, abs=0.05)
    assert len(n.plot().axes) == 1


@pytest.mark.document("002", "Newton's method with damped steps", "dd.newton")
def test_damping_saves_a_search_that_diverges():
    plain = dd.newton(np.arctan, 3.0, damping=False)
    damped = dd.newton(np.arctan, 3.0)
    assert not plain.converged
    assert damped.converged
    assert damped.damping.min() < 1


def test_a_singular_jacobian_is_told():
    n = dd.newton(lambda x: x**2 + 1, 0.0)
    assert not n.converged
    assert n.sentence == "Newton did not converge: the Jacobian is singular."


@pytest.mark.parametrize("method", ["rk4", "heun", "implicit_euler", "gauss2", "radau5", "sdirk3"])
@pytest.mark.document("002", "Runge–Kutta for implicit equations: one system for all K and z", "dd.step")
def test_one_step_is_that_of_a_run(method):
    m = lectures.cart_pendulum()
    h = 0.05
    s = dd.step(m, method, {"x": 0.0, "theta": 0.5, "x_dot": 0.1, "theta_dot": -0.2}, h)
    start = {"theta": 0.5, "x_dot": 0.1, "theta_dot": -0.2}
    run = dd.simulate(m, h, method=method, step=h, start=start, rtol=1e-12, atol=1e-14)
    labels = m.freeze().labels["x"]
    assert s.x == pytest.approx([float(run[label][-1]) for label in labels], abs=1e-9)
    assert s.stages.shape == (dd.tableau(method).stages, 4)
    assert all(history.converged for history in s.iterates)


def test_one_step_of_a_dae_has_its_algebraic_variables():
    m = dd.Model("reciprocal")
    x, z = m.state("x", start=2.0), m.algebraic("z", start=0.5)
    m.equation(m.der(x), z - x)
    m.equation(x * z, 1)
    s = dd.step(m, "radau5", [2.0], 0.1)
    assert s.z[:, 0] * s.points[:, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("name", [row.name for row in dd.methods()])
def test_every_method_shows_one_step_or_says_that_it_has_no_tableau(name):
    """rodas4 and lobatto4 were called unknown names."""
    if name in NOT_TABLEAUX:
        with pytest.raises(dd.InputError, match="This method has no Butcher tableau"):
            dd.step(van_der_pol(), name, [1.0, 0.5], 0.01)
        return
    s = dd.step(van_der_pol(), name, [1.0, 0.5], 0.01)
    flow = dd.simulate(van_der_pol(), 0.01, start={"x": 1.0, "y": 0.5}, rtol=1e-12, atol=1e-13)
    order = dd.tableau(name).order
    assert np.abs(s.x - [flow["x"][-1], flow["y"][-1]]).max() < 4.0 * 0.01 ** (min(order, 4) + 1) + 1e-11
    assert all(history.converged for history in s.iterates)


def test_explicit_steps_refuse_what_they_cannot_solve():
    with pytest.raises(dd.SolverError, match="could not be solved for"):
        dd.step(lectures.pendulum_3d(), "rk4", [0.6, 0, -0.8, 0, 0, 0], 0.01)


def test_work_and_precision_of_two_methods():
    m = dd.Model("oscillator")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation([m.der(x), m.der(v)], [v, -x])
    w = dd.work_precision(m, ["tsit5", "dop853", "rk4"], [1e-3, 1e-6], span=5.0)
    assert all(np.all(np.diff(errors) < 0) for errors in w.errors.values())
    assert all(np.all(np.diff(counts) > 0) for counts in w.evaluations.values())
    labels = [text.get_text() for text in w.plot().axes[0].get_legend().get_texts()]
    assert labels == ["tsit5", "dop853", "rk4"]


def test_drift_as_a_series():
    m = lectures.pendulum_3d()
    tr = dd.simulate(dd.reduce(m, stabilise=None), 2.0, rtol=1e-4, atol=1e-6, inputs={"u": 0.0})
    series = tr.drift(series=True)
    assert series.keys() == tr.drift().keys()
    assert all(values.shape == tr.time.shape for values in series.values())
    assert {name: values.max() for name, values in series.items()} == pytest.approx(tr.drift())
    assert len(tr.plot_steps().axes) == 1


@pytest.mark.document("003", "Baumgarte: c'' + 2 a c' + a^2 c = 0 with a symbol for a", 'dd.derive(m, "reduce")')
def test_baumgarte_with_a_symbol():
    m = lectures.pendulum_3d()
    d = dd.derive(m, "reduce", stabilise="baumgarte", alpha="alpha")
    p, L = m["p"], m["L"]
    last = d[-1].after[-1].left
    alpha = next(s for s in ca.symvar(last) if s.name() == "alpha")
    c, rate = 0.5 * (ca.sumsqr(p) - L**2), ca.dot(p, m.rate(p))
    printed = ca.dot(p, m.der(m.rate(p))) + ca.sumsqr(m.rate(p)) + 2 * alpha * rate + alpha**2 * c
    assert largest_difference(last, printed) < 1e-12
    assert d.check < 1e-9


def test_formula_of_a_multiplier():
    m = lectures.pendulum_3d()
    p, v, u, mass, g = m["p"], m.rate(m["p"]), m["u"], m["m"], m["g"]
    found = dd.solve_for(m, "z")
    printed = (mass * g * p[2] - mass * ca.sumsqr(v) - ca.dot(p, u)) / ca.sumsqr(p)
    assert largest_difference(found, printed) < 1e-12
    assert dd.solve_for(m, "p_ddot").shape == (3, 1)
    with pytest.raises(dd.InputError, match="has no formula of its own"):
        dd.solve_for(m, "p")


@pytest.mark.parametrize(("output", "passive"), [("v", True), ("x", False)])
def test_passivity_of_a_linear_model(output, passive):
    m = dd.Model("mass on a spring")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    f = m.input("f")
    m.equation([m.der(x), m.der(v)], [v, -4 * x - 0.3 * v + f])
    found = dd.passivity(m, "f", output)
    assert found.passive is passive
    if passive:
        # The energy: v² + 4 x².
        assert found.storage == pytest.approx(np.diag([4.0, 1.0]), abs=1e-2)


def test_passivity_of_a_mechanism_by_its_energy():
    m = lectures.double_pendulum()
    torque = m.input("torque")
    m.generalised_force(m["q"], ca.vertcat(torque, 0))
    found = dd.passivity(m, "torque", "q_dot[0]")
    assert found.passive
    assert found.lossless
    assert not dd.passivity(m, "torque", "q_dot[1]").passive


def nonlinear_tank():
    m = dd.Model("tank")
    h, q, u = m.state("h", start=1.0), m.algebraic("q", start=0.3), m.input("u")
    m.equation(m.der(h), u - q)
    m.equation(q**2, 0.2 * h)
    return m


def beam_between_walls():
    m = dd.Model("Bratu")
    y, v = m.state("y", start=0.0), m.state("v", start=0.0)
    m.equation([m.der(y), m.der(v)], [v, -ca.exp(y)])
    return m


def van_der_pol():
    m = dd.Model("van der Pol")
    x, y, mu = m.state("x", start=2.0), m.state("y", start=0.0), m.parameter("mu", 1.0)
    m.equation([m.der(x), m.der(y)], [y, mu * (1 - x**2) * y - x])
    return m


def slow_and_fast():
    m = dd.Model("slow and fast")
    x, z, epsilon = m.state("x", start=1.0), m.state("z", start=0.5), m.parameter("epsilon", 0.01)
    m.equation(m.der(x), -z)
    m.equation(epsilon * m.der(z), x - z - z**3)
    return m


def arm():
    m = dd.Model("arm")
    upper, lower = (m.body(name, mass=1.0, inertia=np.eye(3)) for name in ("upper", "lower"))
    hinge = {"axis_a": [0, 1, 0], "coordinates": "joint"}
    m.joint("shoulder", "revolute", dd.ground, upper, at_b=[-0.5, 0, 0], **hinge)
    m.joint("elbow", "revolute", upper, lower, at_a=[0.5, 0, 0], at_b=[-0.5, 0, 0], **hinge)
    return m


SEARCHES = {
    "linearise": lambda: dd.linearise(nonlinear_tank(), at={"h": 2.0}, inputs={"u": 0.2}),
    "simulate": lambda: dd.simulate(nonlinear_tank(), 1.0, inputs={"u": 0.1}, start="equilibrium"),
    "branch": lambda: dd.branch(van_der_pol(), "mu", (0.5, 1.5)),
    "singular_limit": lambda: dd.singular_limit(slow_and_fast(), "epsilon", 1.0),
    "baumgarte": lambda: dd.reduce(lectures.pendulum_3d(), stabilise="baumgarte"),
    "inverse_kinematics": lambda: dd.inverse_kinematics(arm(), {"lower.position": [0.6, 0.0, 0.9]}),
    "initialise": lambda: dd.initialise(nonlinear_tank(), inputs={"u": 0.1}),
    "equilibrium": lambda: dd.equilibrium(nonlinear_tank(), inputs={"u": 0.1}),
    "boundary_value": lambda: dd.boundary_value(beam_between_walls(), 1.0, lambda at: [at(0)["y"], at(1)["y"]]),
    "periodic": lambda: dd.periodic(van_der_pol(), period=6.6),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_every_search_of_ours_gives_its_history(name):
    with dd.watch_newton() as searches:
        SEARCHES[name]()
    assert len(searches) > 0
    assert searches[-1].converged, str(searches)
    for history in searches:
        assert len(history.iterates) == len(history.residuals) == len(history.damping) + 1
        assert np.all((history.damping > 0) & (history.damping <= 1))
    moved = max(searches, key=lambda history: len(history.residuals))
    assert moved.residuals[-1] < moved.residuals[0]
    assert moved.plot().axes
    assert str(searches).count("\n") == len(searches)
    seen = len(searches)
    dd.equilibrium(nonlinear_tank(), inputs={"u": 0.1})
    assert len(searches) == seen  # the block is over


def test_the_history_ends_at_the_equilibrium():
    with dd.watch_newton() as searches:
        rest = dd.equilibrium(nonlinear_tank(), inputs={"u": 0.1})
    assert rest["h"] in searches[-1].x
    assert np.nanmax(searches[-1].rates) > 1.7


@pytest.mark.parametrize("method", ["radau5", "gauss2", "implicit_euler"])
def test_a_step_from_the_models_own_start(method):
    m = catalogue.load("slider_crank").model
    s = dd.step(m, method, None, 1e-3)
    start = dd.initialise(m)
    values = [float(start[label]) for label in m.freeze().labels["x"]]
    assert s.x == pytest.approx(dd.step(m, method, values, 1e-3).x, abs=1e-12)
    assert not np.allclose(s.x, values, atol=1e-6)


def test_passivity_names_the_output_that_was_asked_for():
    found = dd.passivity(lectures.series_rlc(), "u", "l.current")
    assert found.passive
    assert "from u to l.current" in str(found)


def test_pictures_of_several_methods_name_those_that_did_not_run():
    m = nonlinear_tank()
    w = dd.work_precision(m, ["tsit5", "radau5"], [1e-3, 1e-5], span=1.0, inputs={"u": 0.1})
    labels = [text.get_text() for text in w.plot().axes[0].get_legend().get_texts()]
    assert labels == ["tsit5: no run succeeded", "radau5"]
    pendulum = lectures.pendulum_3d()
    energies = dd.energy_over_time(pendulum, ["auto", "rk4"], 0.5, step=None, inputs={"u": [0, 0, 0]})
    labels = [text.get_text() for text in energies.plot().axes[0].get_legend().get_texts()]
    assert sorted(labels) == sorted(f"{n}: did not run" if n not in energies.energy else n for n in ("auto", "rk4"))
