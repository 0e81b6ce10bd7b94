"""`m.invariant(name, expr)`: kept by every verb, listed, asked of the start, refused where the equations break it."""

import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

ROUNDING = 1e-13


def orbit(start=(1.0, 0.0)):
    m = dd.Model("orbit")
    x = m.state("x", 2, start=list(start))
    m.equation(m.der(x), [x[1], -x[0]], name="rotation")
    m.invariant("radius", ca.sumsqr(x) - 1)
    return m


def oscillator(damping=0.0):
    m = dd.Model("oscillator")
    x, v, f = m.state("x", start=1.0), m.state("v", start=0.0), m.input("f")
    m.equation(m.der(x), v)
    m.equation(m.der(v), f - x - damping * v)
    m.invariant("energy", (v**2 + x**2) / 2, 0.5)
    return m


def pendulum(*invariants):
    """Index 3; energy and tangent are kept, `tangent` repeats the hidden constraint."""
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[1, 0], rate=[0, 0])
    v = m.rate(p)
    m.kinetic_energy(0.5 * ca.sumsqr(v))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", ca.sumsqr(p) - 1)
    known = {"energy": 0.5 * ca.sumsqr(v) + 9.81 * p[1], "tangent": p.T @ v, "wrong": p[0] - 1}
    for name in invariants:
        m.invariant(name, known[name])
    return m


# -- runs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "tsit5", "dop853", "radau5", "radau9", "bdf", "rodas5p", "radau3"])
def test_steps_of_every_method_are_held_to_it(method):
    tr = dd.simulate(orbit(), 20.0, method=method, rtol=1e-4, save_at=np.linspace(0, 20, 41))
    assert tr.success
    assert tr.drift()["radius"] < ROUNDING
    assert np.allclose(tr["x"][-1], [np.cos(20), -np.sin(20)], atol=1e-3)


@pytest.mark.parametrize("method", ["euler", "rk4", "implicit_euler", "trapezoidal", "gauss2"])
def test_fixed_steps_too(method):
    assert dd.simulate(orbit(), 5.0, method=method, step=0.05).drift()["radius"] < 1e-9


@pytest.mark.parametrize("invariants", [("energy",), ("tangent",), ("energy", "tangent")])
@pytest.mark.parametrize("method", ["auto", "radau5", "radau9"])
def test_beside_constraints_all_levels_are_kept_together(method, invariants):
    tr = dd.simulate(pendulum(*invariants), 3.0, method=method)
    assert tr.success, tr.stop_reason
    assert {"rod", *invariants} <= set(tr.drift())
    assert max(tr.drift().values()) < ROUNDING


@pytest.mark.parametrize("stabilise", ["baumgarte", "ggl", "dummy_derivatives", None])
def test_reduced_models_know_it(stabilise):
    tr = dd.simulate(dd.reduce(pendulum("energy", "tangent"), stabilise=stabilise), 3.0)
    assert tr.success
    assert tr.drift()["energy"] < (1e-5 if stabilise == "dummy_derivatives" else ROUNDING)


def test_the_quadrotor_keeps_the_length_of_its_quaternion():
    k = catalogue.load("quadrotor")
    for method in ("auto", "radau5"):
        tr = dd.simulate(k.model, k.span, inputs=k.inputs, method=method)
        assert np.abs(tr["quaternion_norm"] - 1).max() < ROUNDING


def test_a_reset_may_not_leave_it():
    m = oscillator()
    m.event("wall", m["x"] - 0.5, direction=-1, reset={"v": -m["v"]})
    tr = dd.simulate(m, 3.0, inputs={"f": 0.0})
    assert tr.success
    assert len(tr.events) >= 1
    assert tr.drift()["energy"] < ROUNDING


# -- starts ----------------------------------------------------------------------------------------------------


def test_a_start_off_it_is_refused_in_four_parts():
    with pytest.raises(dd.InconsistentStartError) as caught:
        dd.simulate(orbit((2.0, 0.0)), 1.0)
    assert str(caught.value) == (
        "radius and the given x[0] = 2 disagree by 1.\n"
        "  radius: x[0]^2 + x[1]^2 - 1 = 0 is left at 3\n"
        "  the nearest values that fit: x[0] = 1\n"
        "  Because given values are not changed, and no values of the others satisfy the equations.\n"
        '  Try: start=dd.initialise(m, {...}, free=["x[0]"]), which becomes 1'
    )
    with pytest.raises(dd.InconsistentStartError, match="radius is off by 3"):
        dd.simulate(orbit((2.0, 0.0)), 1.0, method="radau5")


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_free_start_values_follow_from_it(method):
    m = orbit((0.6, None))
    assert abs(dd.initialise(m)["x"] @ dd.initialise(m)["x"] - 1) < 1e-12
    assert np.allclose(dd.simulate(m, 1.0, method=method)["x"][0], [0.6, 0.8])


def test_a_run_may_begin_at_rest():
    m = dd.Model("pivot")
    c, s, w = m.state("c", start=1.0), m.state("s", start=0.0), m.state("w", start=0.0)
    m.equation(m.der(c), -s * w)
    m.equation(m.der(s), c * w)
    m.equation(m.der(w), -s - 0.1 * w + 0.6)
    m.invariant("circle", c**2 + s**2, 1)
    tr = dd.simulate(m, 1.0, start="equilibrium")
    assert np.allclose(np.ptp(tr["s"]), 0, atol=1e-9)
    assert tr["s"][0] == pytest.approx(0.6)
    assert tr["c"][0] == pytest.approx(0.8)


# -- what is not kept --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_what_the_equations_break_is_refused_with_its_rate(method):
    with pytest.raises(dd.ModelError) as caught:
        dd.simulate(oscillator(damping=0.1), 1.0, inputs={"f": 0.0}, method=method)
    told = str(caught.value).splitlines()
    assert told[0] == "The equations do not keep energy."
    assert told[1].startswith("  energy changes at a rate of -0.0")
    assert "where x = " in told[1]


def test_inputs_decide_whether_it_is_kept():
    assert dd.simulate(oscillator(), 3.0, inputs={"f": 0.0}).drift()["energy"] < ROUNDING
    for push in (1.0, lambda t: ca.sin(t), dd.signal([0, 1, 3], [0, 0, 1])):
        with pytest.raises(dd.ModelError, match="do not keep energy"):
            dd.simulate(oscillator(), 3.0, inputs={"f": push})


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_of_a_model_of_index_three_too(method):
    with pytest.raises(dd.ModelError, match="do not keep wrong"):
        dd.simulate(pendulum("wrong"), 1.0, method=method)


def test_analyse_lists_it_and_warns():
    r = dd.analyse(orbit())
    assert r.invariants == ["radius"]
    assert [text for text, _ in r.hidden_constraints] == ["radius: x[0]^2 + x[1]^2 - 1 = 0"]
    assert not r.warnings
    broken = dd.analyse(oscillator(damping=0.1))
    assert any("energy changes at a rate of" in warning for warning in broken.warnings)


# -- other verbs -------------------------------------------------------------------------------------------------


def test_derivatives_of_an_ode_are_those_of_its_flow_in_all_directions():
    m = oscillator()
    sens = dd.sensitivities(m, 3.0, inputs={"f": 0.0}, wrt=("start",))
    np.testing.assert_array_equal(sens.at(0.0).M, np.eye(2))
    assert np.allclose(sens.M, [[np.cos(3), np.sin(3)], [-np.sin(3), np.cos(3)]], atol=1e-6)
    assert sens.verify().passed
    found = dd.gradient(m, 3.0, final=m["x"], inputs={"f": 0.0}, wrt=("start",))
    assert found["v"] == pytest.approx(np.sin(3), abs=1e-6)
    step = dd.flow(orbit(), step=0.1, method="rk4")
    assert np.allclose(step([2, 0], [], []).full().ravel(), [2 * np.cos(0.1), -2 * np.sin(0.1)], atol=1e-6)


def test_derivatives_of_a_constrained_model_lie_along_all_that_it_keeps():
    sens = dd.sensitivities(pendulum("energy"), 1.0, wrt=("start",))
    position, velocity = sens.value[:2], sens.value[2:]
    assert np.abs(position @ sens.M[:2]).max() < 1e-9
    energy = velocity @ sens.M[2:] + 9.81 * sens.M[1]
    assert np.abs(energy).max() < 1e-9


def test_prepare_and_sweep_keep_it():
    m = orbit()
    run = dd.prepare(m, 3.0, save_at=[0.0, 1.0, 3.0])
    assert np.abs((run([0.6, 0.8]) ** 2).sum(axis=1) - 1).max() < ROUNDING
    with pytest.raises(dd.InconsistentStartError):
        run([0.6, 0.0])
    en = dd.sweep(m, 3.0, over={"x[0]": [0.6, 1.0]}, start={"x": [1.0, None]})
    assert not en.failed
    assert np.abs((en["x"].values[:, -1] ** 2).sum(axis=-1) - 1).max() < ROUNDING


def test_it_travels(tmp_path):
    m = orbit()
    tr = dd.simulate(m, 3.0)
    tr.save(tmp_path / "run.nc")
    assert dd.load(tmp_path / "run.nc").drift() == tr.drift()
    assert dd.simulate(pickle.loads(pickle.dumps(m)), 3.0).drift()["radius"] < ROUNDING
    assert dd.simulate(m.freeze(), 3.0).drift()["radius"] < ROUNDING
    whole = dd.Model("two")
    whole.include("left", m)
    whole.include("right", orbit())
    assert set(dd.simulate(whole, 3.0).drift()) == {"left.radius", "right.radius"}
    assert "kept: radius: x[0]^2 + x[1]^2 - 1 = 0" in str(m)


def test_plans_that_fix_all_states_count_it():
    m = dd.Model("heading")
    d, turn = m.state("d", 2, start=[1.0, 0.0]), m.input("turn")
    m.equation(m.der(d), [-d[1] * turn, d[0] * turn])
    m.invariant("length", ca.sumsqr(d), 1)
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.start()
    ocp.finish({"d": [0.0, 1.0]})
    ocp.minimise(running=turn**2)
    plan = ocp.solve()
    assert plan.success
    assert plan.objective == pytest.approx((np.pi / 2) ** 2, rel=1e-3)


# -- writing it --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda m: m.invariant("radius", m["x"][0]), "The invariant name 'radius' is taken."),
        (lambda m: m.invariant("rotation", m["x"][0]), "The equation name 'rotation' is taken."),
        (lambda m: m.invariant("", m["x"][0]), "The name of an invariant is a text."),
        (lambda m: m.invariant("k", m["u"] - m["x"][0]), "Invariant 'k' contains u."),
        (lambda m: m.invariant("k", m["z"] - m["x"][0]), "Invariant 'k' contains z."),
        (lambda m: m.invariant("k", m["p"] - 1), "Invariant 'k' contains no unknown."),
        (lambda m: m.invariant("k", m["x"][0] <= 1), "Invariant 'k' is an inequality."),
        (lambda m: m.invariant("k", m["x"], [1, 2, 3]), "The two sides of invariant 'k' have different shapes."),
        (lambda m: m.equation(m["z"], 0, name="radius"), "The invariant name 'radius' is taken."),
    ],
)
def test_what_cannot_be_kept_is_refused(write, words):
    m = orbit()
    m.input("u"), m.algebraic("z"), m.parameter("p", 1.0)
    with pytest.raises(dd.ModelError) as caught:
        write(m)
    assert str(caught.value).splitlines()[0] == words


# -- surplus equations -------------------------------------------------------------------------------------------


def quadrotor_with(row):
    """Document 001: the 13 rows of the quadrotor and one more."""
    k = catalogue.load("quadrotor", form="plain")
    m = k.model
    q = m["quaternion"]
    m.equation({"norm": ca.sumsqr(q) - 1, "its rate": 2 * q.T @ m.der(q), "wrong": ca.sumsqr(q[:3]) - 1}[row], name=row)
    return k, m


@pytest.mark.document("001", "14 rows for 13 unknowns: an ODE with an invariant", "`m.invariant`")
@pytest.mark.parametrize("row", ["norm", "its rate"])
@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_fourteen_rows_for_thirteen_unknowns_run(row, method):
    k, m = quadrotor_with(row)
    tr = dd.simulate(m, k.span, inputs=k.inputs, method=method)
    assert tr.success
    assert np.allclose(tr["quaternion"][-1], k.reference["quaternion"], atol=1e-6)
    report = dd.analyse(m)
    if row == "norm":
        assert tr.drift()["norm"] < ROUNDING
        assert report.invariants == ["norm"]
    else:
        assert report.redundant == ["its rate"]


def test_a_row_that_the_others_break_is_one_too_many():
    _, m = quadrotor_with("wrong")
    with pytest.raises(dd.ModelError, match="one equation too many"):
        m.freeze()


@pytest.mark.document("004", "(12) M = dF/dx' may be rectangular", "`m.equation`")
def test_a_rectangular_matrix_of_derivatives():
    """Document 004: dF/dx' may be rectangular; three rows for two unknowns, of which one follows from the others."""
    m = dd.Model("rectangular")
    x = m.state("x", 2, start=[1.0, 0.0])
    a, b = m.der(x)[0], m.der(x)[1]
    m.equation(a + b, x[1] - x[0], name="sum")
    m.equation(a - b, x[1] + x[0], name="difference")
    m.equation(a, x[1], name="first")
    for method in ("auto", "radau5"):
        assert np.allclose(dd.simulate(m, 1.0, method=method)["x"][-1], [np.cos(1), -np.sin(1)], atol=1e-6)
    assert dd.analyse(m).redundant == ["first"]
    m.equation(b, x[0], name="contradiction")
    with pytest.raises(dd.ModelError, match="two equations too many"):
        m.freeze()
