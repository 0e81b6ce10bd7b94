"""simulate: right answers, every kind of input, and a clear word for every wrong argument."""

import pickle
import subprocess
import sys
import textwrap

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.compilation import counts


def oscillator():
    m = dd.Model("oscillator")
    y = m.state("y", start=1.0, rate=0.0, unit="m")
    k = m.parameter("k", 1.0)
    m.equation(m.der(m.der(y)), -k * y)
    m.output("energy", 0.5 * (m.der(y) ** 2 + k * y**2))
    return m


def driven():
    m = dd.Model("driven")
    x = m.state("x", 2, start=[0.0, 0.0])
    u = m.input("u", 2)
    m.equation(m.der(x), u)
    return m


def test_values_by_name_and_shape():
    m = dd.Model("shapes")
    s = m.state("s", start=1.0)
    v = m.state("v", 3, start=[1, 2, 3])
    a = m.state("A", (2, 3), start=[[1, 2, 3], [4, 5, 6]])
    for x in (s, v, a):
        m.equation(m.der(x), -x)
    m.output("doubled", 2 * a)
    tr = dd.simulate(m, 1.0, rtol=1e-10)
    n = len(tr.time)
    assert tr["s"].shape == (n,)
    assert tr["v"].shape == (n, 3)
    assert tr["A"].shape == (n, 2, 3)
    assert tr["v[1]"].shape == (n,)
    np.testing.assert_allclose(tr["A"][-1], np.exp(-1) * np.array([[1, 2, 3], [4, 5, 6]]), rtol=1e-9)
    np.testing.assert_array_equal(tr["A[1,2]"], tr["A"][:, 1, 2])
    np.testing.assert_array_equal(tr["doubled"], 2 * tr["A"])
    np.testing.assert_array_equal(tr["doubled[0,1]"], 2 * tr["A"][:, 0, 1])
    np.testing.assert_array_equal(tr["A_dot"], -tr["A"])
    np.testing.assert_array_equal(tr.at(0.3)["A"].shape, (2, 3))
    assert tr.at([0.1, 0.2])["v"].shape == (2, 3)


def test_second_order_model_is_reduced_by_itself():
    tr = dd.simulate(oscillator(), 10.0, rtol=1e-10)
    np.testing.assert_allclose(tr["y"], np.cos(tr.time), atol=1e-8)
    np.testing.assert_allclose(tr["y_dot"], -np.sin(tr.time), atol=1e-8)
    np.testing.assert_allclose(tr["y_ddot"], -tr["y"], atol=1e-15)
    assert np.ptp(tr["energy"]) < 1e-8


def test_dense_output_is_as_good_as_the_tolerance():
    tr = dd.simulate(oscillator(), 10.0, rtol=1e-9)
    times = np.linspace(0, 10, 997)
    np.testing.assert_allclose(tr.at(times)["y"], np.cos(times), atol=2e-7)


def test_backward_in_time():
    forward = dd.simulate(oscillator(), 3.0, rtol=1e-11)
    back = dd.simulate(oscillator(), (3.0, 0.0), start=forward.at(3.0), rtol=1e-11)
    assert back["y"][-1] == pytest.approx(1.0, abs=1e-9)
    assert back.at(1.5)["y"] == pytest.approx(np.cos(1.5), abs=1e-8)


def test_start_parameters_and_snapshots():
    m = oscillator()
    tr = dd.simulate(m, 1.0, start={"y": 2.0, "y_dot": 1.0}, parameters={"k": 4.0}, rtol=1e-11)
    assert tr["y"][-1] == pytest.approx(2 * np.cos(2) + 0.5 * np.sin(2), rel=1e-9)
    more = dd.simulate(m, (1.0, 2.0), start=tr.at(1.0), parameters={"k": 4.0}, rtol=1e-11)
    assert more["y"][-1] == pytest.approx(2 * np.cos(4) + 0.5 * np.sin(4), rel=1e-9)


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        ([1.0, 2.0], (2.0, 4.0)),
        (3.0, (6.0, 6.0)),
        (lambda t: np.array([t, t**2]), (2.0, 8.0 / 3.0)),
        (lambda t: [1.0 if t < 1 else 0.0, 1.0], (1.0, 2.0)),
        (dd.signal([0.0, 1.0], [[1.0, 0.0], [0.0, 2.0]]), (1.0, 2.0)),
        (dd.signal([0.0, 1.0, 2.0], [[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]], kind="linear"), (1.0, 1.5)),
        (ca.DM([1.0, 2.0]), (2.0, 4.0)),
        ((1, 2), (2.0, 4.0)),
    ],
)
def test_inputs_of_every_kind(value, exact):
    tr = dd.simulate(driven(), 2.0, inputs={"u": value}, rtol=1e-9)
    np.testing.assert_allclose(tr["x"][-1], exact, atol=1e-6)
    assert tr["u"].shape == (len(tr.time), 2)


def test_elements_of_an_input_may_be_given_one_by_one():
    tr = dd.simulate(driven(), 2.0, inputs={"u[0]": 1.0, "u[1]": dd.signal([0.0, 1.0], [0.0, 1.0])})
    np.testing.assert_allclose(tr["x"][-1], [2.0, 1.0], rtol=1e-12)


def test_feedback_expression_closes_the_loop():
    m = driven()
    tr = dd.simulate(m, 1.0, start={"x": [1.0, 2.0]}, inputs={"u": -m["x"]}, rtol=1e-10)
    np.testing.assert_allclose(tr["x"][-1], np.exp(-1) * np.array([1.0, 2.0]), rtol=1e-8)
    np.testing.assert_array_equal(tr["u"], -tr["x"])


def test_a_table_restarts_the_integration_at_every_breakpoint():
    """Piecewise polynomial right-hand sides are solved to rounding, whatever the tolerance."""
    m = dd.Model("steps")
    x = m.state("x", start=0.0)
    u = m.input("u")
    m.equation(m.der(x), u)
    times = np.array([0.0, 0.31, 0.77, 1.5])
    values = np.array([1.0, -2.0, 0.5, 4.0])
    tr = dd.simulate(m, 2.0, inputs={"u": dd.signal(times, values)}, rtol=1e-2, atol=1.0)
    exact = np.sum(values * np.diff([*times, 2.0]))
    assert tr["x"][-1] == pytest.approx(exact, abs=1e-14)
    assert set(times) <= set(tr.time)


def test_algebraic_variables_with_an_explicit_solution():
    m = dd.Model("circuit")
    q = m.state("q", start=1.0)
    i, r = m.algebraic("i"), m.algebraic("r")
    m.equation(m.der(q), -i)
    m.equation(r * i, q)
    m.equation(r, 2.0 + 0 * q)
    tr = dd.simulate(m, 1.0, rtol=1e-10)
    assert tr["q"][-1] == pytest.approx(np.exp(-0.5), rel=1e-8)
    np.testing.assert_allclose(tr["i"], tr["q"] / 2)
    assert max(tr.drift().values()) < 1e-15
    assert max(tr.drift(between=True).values()) < 1e-15


def test_save_at_gives_these_times_exactly():
    times = [0.0, 0.1, 0.7, 2.0]
    tr = dd.simulate(oscillator(), 2.0, save_at=times, rtol=1e-9)
    np.testing.assert_array_equal(tr.time, times)
    np.testing.assert_allclose(tr["y"], np.cos(times), atol=1e-7)
    assert tr.at(1.3)["y"] == pytest.approx(np.cos(1.3), abs=1e-7)


def test_repeated_calls_neither_retrace_nor_recompile():
    m = driven()
    push = lambda t: np.array([np.sin(t), t])  # noqa: E731
    dd.simulate(m, 1.0, inputs={"u": [1.0, 2.0]})
    dd.simulate(m, 1.0, inputs={"u": push})
    dd.simulate(m, 1.0, inputs={"u": -m["x"]})
    before = counts()
    frozen = m.freeze()
    for k in range(5):
        dd.simulate(m, 1.0 + k, start={"x": [k, 1.0]}, inputs={"u": [k, 2.0]}, rtol=10.0 ** (-k - 2))
        dd.simulate(m, 1.0 + k, inputs={"u": push})
        dd.simulate(m, 1.0 + k, inputs={"u": -m["x"]})
    assert counts() == before
    assert m.freeze() is frozen


def test_atol_by_name_and_nominal_values():
    def model(nominal):
        m = dd.Model("scales")
        x = m.state("x", 2, start=[1e-6, 1.0], nominal=nominal)
        m.equation(m.der(x), [-x[0], -0.01 * x[1]])
        return m

    loose = dd.simulate(model(1.0), 10.0, rtol=1e-12, atol=1e-6, method="tsit5")
    fine = dd.simulate(model([1e-6, 1.0]), 10.0, rtol=1e-12, atol=1e-6, method="tsit5")
    named = dd.simulate(model(1.0), 10.0, rtol=1e-12, atol={"x[0]": 1e-12, "x[1]": 1e-6}, method="tsit5")
    assert loose.work.steps < fine.work.steps
    assert named.work.steps == fine.work.steps


def test_blow_up_keeps_its_data_and_names_time_and_variable():
    m = dd.Model("explosion")
    m.state("quiet", start=1.0)
    x = m.state("x", start=1.0)
    m.equation(m.der(m["quiet"]), 0.0 * x)
    m.equation(m.der(x), x**2)
    tr = dd.simulate(m, 2.0)
    assert not tr.success
    assert tr.status == "step_too_small"
    assert tr.stop.variables == ("x",)
    assert tr.stop_reason == (
        "step size fell below 2.2e-15 at t = 1; largest scaled error in x; "
        "try a shorter span if the solution diverges there, or an event where the equations jump"
    )
    assert len(tr.time) > 10
    assert tr["x"][-1] > 1e3
    assert tr.at(0.5)["x"] == pytest.approx(2.0, rel=1e-5)


def test_nan_on_the_way_names_the_derivative():
    m = dd.Model("root")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -1.0 - ca.sqrt(x))
    tr = dd.simulate(m, 5.0)
    assert not tr.success
    assert tr.stop_reason == f"x_dot is not finite at t = {tr.stop.time:.6g}"
    assert tr.stop.variables == ("x_dot",)
    assert 0 < tr.time[-1] < 1


def test_nan_at_the_start_is_told_at_once():
    m = dd.Model("log")
    x = m.state("x", start=-1.0)
    m.equation(m.der(x), ca.log(x))
    tr = dd.simulate(m, 5.0)
    assert tr.status == "not_finite"
    assert tr.stop_reason == "x_dot is not finite at t = 0"
    with pytest.raises(dd.SolverError, match="x_dot is not finite at t = 0") as caught:
        dd.simulate(m, 5.0, on_stop="raise")
    assert caught.value.trajectory.status == "not_finite"


def test_limits_end_a_run_and_keep_its_data():
    tr = dd.simulate(oscillator(), 1e6, max_steps=10)
    assert tr.status == "step_limit"
    assert tr.work.steps == 10
    assert tr.stop.what == f"took max_steps = 10 steps and got to t = {tr.time[-1]:.6g}"
    slow = dd.simulate(oscillator(), 1e12, time_limit=0.05, progress=False)
    assert slow.status == "time_limit"
    assert slow.work.steps > 10


def test_max_step_and_first_step():
    tr = dd.simulate(oscillator(), 1.0, max_step=0.01)
    assert np.diff(tr.time).max() <= 0.01 * (1 + 1e-12)
    tr = dd.simulate(oscillator(), 1.0, first_step=1e-4)
    assert tr.time[1] == pytest.approx(1e-4)


def test_progress_is_called_with_the_time_reached():
    seen = []
    dd.simulate(oscillator(), 3e5, progress=seen.append, rtol=1e-9)
    assert seen == sorted(seen)
    assert all(0 <= t <= 3e5 for t in seen)


def test_ctrl_c_returns_what_was_computed():
    script = textwrap.dedent("""
        import os, signal, threading
        import daedalus as dd
        m = dd.Model("oscillator")
        y = m.state("y", start=1.0)
        m.equation(m.der(m.der(y)), -y)
        dd.simulate(m, 1.0)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        tr = dd.simulate(m, 1e12, progress=False, max_steps=None)
        print(tr.status, tr.success, len(tr.time) > 100)
    """)
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=True)
    assert out.stdout.split() == ["interrupted", "False", "True"]


def test_trajectories_pickle():
    m = driven()
    tr = dd.simulate(m, 1.0, inputs={"u": lambda t: [float(t > 0.5), t]})
    twin = pickle.loads(pickle.dumps(tr))
    np.testing.assert_array_equal(twin["x"], tr["x"])
    assert twin.at(0.3)["x"].tolist() == tr.at(0.3)["x"].tolist()
    assert twin.stop_reason == tr.stop_reason
    assert twin.system == tr.system


def test_models_systems_and_trajectories_work_in_spawned_processes():
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    m = oscillator()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        tr = pool.submit(dd.simulate, m, 1.0).result()
        other = pool.submit(dd.simulate, m.freeze(), 1.0).result()
    here = dd.simulate(m, 1.0)
    np.testing.assert_array_equal(tr["y"], here["y"])
    np.testing.assert_array_equal(other["y"], here["y"])
    assert tr.at(0.5)["energy"] == here.at(0.5)["energy"]


def test_fixed_step_methods_and_own_tableaux():
    tr = dd.simulate(oscillator(), 1.0, method="rk4", step=0.1)
    np.testing.assert_allclose(np.diff(tr.time), 0.1)
    assert tr.work.rhs in (40, 41)
    own = dd.Tableau([[0, 0], [2 / 3, 0]], [1 / 4, 3 / 4], [0, 2 / 3], name="mine")
    same = dd.simulate(oscillator(), 1.0, method=own, step=0.1)
    assert same.method == "mine"
    np.testing.assert_allclose(same["y"], dd.simulate(oscillator(), 1.0, method="ralston", step=0.1)["y"], atol=1e-15)


def test_a_given_derivative_must_agree_with_the_equations():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    dd.simulate(m, 1.0, start={"x_dot": -1.0})
    with pytest.raises(dd.InconsistentStartError) as caught:
        dd.simulate(m, 1.0, start={"x_dot": 2.0})
    assert str(caught.value) == (
        "The given x_dot contradicts the equations.\n"
        "  given 2, the equations give -1: a distance of 3\n"
        "  Because x_dot follows from the states at the start.\n"
        "  Try: leave x_dot out of start=, or change the states"
    )


WRONG = [
    ({"start": {"z": 1.0}}, "The model 'oscillator' has no variable 'z'."),
    ({"start": {"y": [1.0, 2.0]}}, "The start value of y has the wrong shape."),
    ({"start": {"y": float("nan")}}, "The start value of y is nan."),
    ({"start": {"k": 1.0}}, "k is a parameter, not a variable with a start value."),
    ({"start": 3.0}, "start= takes values by name."),
    ({"parameters": {"y": 1.0}}, "y is a state, not a parameter."),
    ({"parameters": {"kk": 1.0}}, "The model 'oscillator' has no parameter 'kk'."),
    ({"max_steps": 1.5}, "max_steps must be a whole number."),
    ({"save_at": [0.1, float("nan")]}, "save_at is a list of times."),
    ({"save_at": [[0.5]]}, "save_at is a list of times."),
    ({"parameters": {"k": "a"}}, "The value of k is not a number."),
    ({"inputs": {"u": 1.0}}, "The model 'oscillator' has no input 'u'."),
    ({"method": "rk5"}, "There is no method 'rk5'."),
    ({"method": "rk4"}, "The method 'rk4' needs a step."),
    ({"method": 3}, "method= is a name or a Tableau."),
    ({"method": "rattle"}, "The model 'oscillator' has no mechanics."),
    ({"rtol": -1.0}, "rtol must be a positive number."),
    ({"rtol": float("nan")}, "rtol must be a positive number."),
    ({"atol": -1.0}, "atol must be a number >= 0, or numbers by name."),
    ({"atol": {"q": 1.0}}, "The model 'oscillator' has no variable 'q'."),
    ({"atol": {"k": 1.0}}, "atol of k is not valid."),
    ({"step": 0.0}, "step must be a positive number."),
    ({"max_steps": 0}, "max_steps must be a positive number."),
    ({"save_at": [0.0, 2.0]}, "save_at is outside the span."),
    ({"save_at": [0.5, 0.2]}, "The times of save_at are not in order."),
    ({"on_stop": "cry"}, "on_stop='cry' is not valid."),
]


@pytest.mark.parametrize(("options", "headline"), WRONG, ids=[h[:40] for _, h in WRONG])
def test_wrong_arguments_are_named(options, headline):
    with pytest.raises(dd.InputError) as caught:
        dd.simulate(oscillator(), 1.0, **options)
    assert str(caught.value).splitlines()[0] == headline


@pytest.mark.parametrize("span", [float("nan"), "a", (0, float("inf")), (1, 2, 3), None, "1", True, (0, "1")])
def test_wrong_spans(span):
    with pytest.raises(dd.InputError, match="The span is not a time"):
        dd.simulate(oscillator(), span)


def test_missing_values_are_named():
    m = driven()
    with pytest.raises(dd.InputError) as caught:
        dd.simulate(m, 1.0)
    assert str(caught.value) == (
        "u[0], u[1] have no value.\n"
        "  Because an input comes from outside; the model holds no value for it.\n"
        "  Try: inputs={'u': 0.0}"
    )
    m = dd.Model("p")
    x, k = m.state("x", start=1.0), m.parameter("k")
    m.equation(m.der(x), k * x)
    with pytest.raises(dd.InputError, match="k has no value"):
        dd.simulate(m, 1.0)


def test_wrong_inputs_are_named():
    m = driven()
    cases = [
        ({"u": [1.0, 2.0, 3.0]}, "The value of u has the wrong shape."),
        ({"u": lambda t: [1.0, 1.0, 1.0]}, "The function for input u has the wrong shape."),
        ({"u": lambda t, x: [1.0, 1.0]}, "The function for input u cannot be evaluated."),
        ({"u": dd.signal([0.5, 1.0], [[1, 1], [2, 2]])}, "The signal for input u does not cover the run."),
        ({"u": dd.signal([0.0, 0.5], [[1, 1], [2, 2]], "linear")}, "The signal for input u does not cover the run."),
        ({"u": dd.signal([0.0, 0.5], [1.0, 2.0])}, "The signal for input u has the wrong shape."),
        ({"u": ca.SX.sym("w", 2)}, "The expression for input u contains a foreign symbol."),
        ({"u": m["x[0]"]}, "The expression for input u has the wrong shape."),
        ({"u": m["u"] * 2}, "The expression for input u contains u itself."),
        ({"x": 1.0}, "x is a state, not an input."),
        ({"u": float("nan")}, "The value of u[0] is nan."),
    ]
    for inputs, headline in cases:
        with pytest.raises(dd.InputError) as caught:
            dd.simulate(m, 1.0, inputs=inputs)
        assert str(caught.value).splitlines()[0] == headline


def test_tables_that_end_before_zero_cover_their_run():
    m = dd.Model("sum")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), u)
    ramp = dd.signal([-3.0, -1.0], [0.0, 2.0], "linear")
    assert dd.simulate(m, (-3.0, -1.0), inputs={"u": ramp})["x"][-1] == pytest.approx(2.0)
    with pytest.raises(dd.InputError, match="does not cover the run"):
        dd.simulate(m, (-3.0, -0.999), inputs={"u": ramp})


def test_signals_refuse_bad_tables():
    cases = [
        (([0, 0], [1, 2]), "The times of a signal do not increase."),
        (([0, 1], [1, 2, 3]), "Times and values of a signal do not fit."),
        (([0, float("nan")], [1, 2]), "A signal contains NaN or infinity."),
        (([0, 1], [1, 2], "cubic"), "'cubic' is not a kind of signal."),
        (([], []), "The times of a signal are a list of numbers."),
    ]
    for arguments, headline in cases:
        with pytest.raises(dd.InputError) as caught:
            dd.signal(*arguments)
        assert str(caught.value).splitlines()[0] == headline


def test_a_frozen_dae_of_high_index_runs_as_its_model_does():
    m = dd.Model("pendulum")
    q = m.state("q", 2, start=[1.0, 0.0])
    rod = m.algebraic("rod")
    m.equation(m.der(m.der(q)), [rod * q[0], rod * q[1] - 9.81])
    m.equation(ca.sumsqr(q), 1.0, name="length")
    frozen, written = dd.simulate(m.freeze(), 1.0), dd.simulate(m, 1.0)
    np.testing.assert_array_equal(frozen["q"], written["q"])


def test_zero_span_gives_the_start():
    tr = dd.simulate(oscillator(), 0.0)
    assert tr.success
    assert tr["y"][-1] == 1.0
    assert tr.at(0.0)["y"] == 1.0


def test_at_outside_the_run_is_refused():
    tr = dd.simulate(oscillator(), 1.0)
    with pytest.raises(dd.InputError, match="it covers t = 0 to 1; asked for 2 to 2"):
        tr.at(2.0)
    with pytest.raises(dd.InputError, match="finite times"):
        tr.at(float("nan"))


@pytest.mark.parametrize("last", [0.3, 0.7, 1.1, 2e-10])
@pytest.mark.parametrize("steps", [3, 7, 11])
def test_times_that_rounding_puts_beyond_the_end_are_the_end(last, steps):
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    times = np.cumsum(np.full(steps, last / steps))
    for beyond in (times, np.array([*times[:-1], np.nextafter(last, np.inf)])):
        tr = dd.simulate(m, last, save_at=beyond)
        assert abs(tr.time[-1] - last) <= 1e-15 * last * steps
        assert len(tr.time) == steps
    back = dd.simulate(m, (last, 0.0), save_at=[last, np.nextafter(0.0, -1.0)])
    assert back.time[-1] == 0.0
    with pytest.raises(dd.InputError, match="save_at is outside the span"):
        dd.simulate(m, last, save_at=[last * (1 + 1e-12)])
