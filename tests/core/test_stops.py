"""Why a run ends early: the reason, the culprit, the time, and all data up to there."""

import math
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import tableaux

from daedalus import _core

METHODS = ["bs3", "tsit5", "dopri5", "dop853"]


@pytest.mark.parametrize("method", METHODS)
def test_blow_up_names_time_and_component(native, integrate, method):
    """x1' = x1^2 from 1 has a pole at t = 1; x0 is harmless."""
    run = integrate(native("square", 2), method, 0, 2, [5, 1])
    assert run.status in {"step_too_small", "not_finite"}
    assert run.culprit == 1
    assert run.stop_time == pytest.approx(1, abs=1e-4)
    assert run.t[-1] == run.stop_time
    good = run.t < 0.9
    assert run.x[good, 1] == pytest.approx(1 / (1 - run.t[good]), rel=1e-3)
    assert np.isfinite(run.x).all()


@pytest.mark.parametrize("method", METHODS)
def test_leaving_the_domain_of_the_model(native, integrate, method):
    """x2' = -sqrt(x2) reaches 0 at t = 2 and would go on below."""
    run = integrate(native("root", 3), method, 0, 5, [0, 0, 1], rtol=1e-8, atol=1e-10)
    assert (run.status, run.culprit, run.culprit_stage) == ("not_finite", 2, "derivative")
    assert run.stop_time == pytest.approx(2, abs=1e-3)
    assert np.isfinite(run.x).all()


def test_not_finite_at_the_start_stops_at_once(native, integrate):
    run = integrate(native("root", 3), "tsit5", 1, 5, [0, 0, -1])
    assert (run.status, run.culprit, run.culprit_stage) == ("not_finite", 2, "derivative")
    assert (run.steps, run.rhs_calls, run.stop_time) == (0, 1, 1)
    run = integrate(native("root", 3), "tsit5", 1, 5, [0, np.inf, 1])
    assert (run.status, run.culprit, run.culprit_stage, run.rhs_calls) == ("not_finite", 1, "state", 0)


@pytest.mark.wide
def test_steps_near_the_spacing_of_numbers_that_lead_nowhere_end_a_run(python, integrate):
    """x = sin 1e12 (t - 1): a second of it would take 1e12 steps, a run of 1e-9 s is meant to be that short."""
    fast = python(lambda t, x, u, p: [1e12 * math.cos(1e12 * (t[0] - 1))], 1)
    run = integrate(fast, "tsit5", 1, 2, [0])
    assert run.status == "step_too_small"
    assert 10_000 <= run.steps < 100_000
    assert integrate(fast, "tsit5", 1, 1 + 1e-9, [0]).status == "finished"
    assert integrate(fast, "tsit5", 1, 2, [0], max_steps=9_000).status == "step_limit"


def test_fixed_steps_stop_where_something_is_not_finite(native, integrate):
    run = integrate(native("square", 2), tableaux.make("euler"), 0, 100, [0, 1], step=0.5)
    assert (run.status, run.culprit) == ("not_finite", 1)
    assert np.isfinite(run.x).all()
    assert run.stop_time == run.t[-1] == 0.5 * run.steps
    run = integrate(native("root", 3), tableaux.make("rk4"), 0, 5, [0, 0, 1], step=0.3)
    assert (run.status, run.culprit, run.culprit_stage) == ("not_finite", 2, "derivative")


def test_overflow_of_the_state_itself(python, integrate):
    run = integrate(python(lambda t, x, u, p: [1e308], 1), tableaux.make("euler"), 0, 10, [0], step=1.0)
    assert (run.status, run.culprit, run.culprit_stage, run.steps) == ("not_finite", 0, "state", 1)


def test_a_failed_evaluation_counts_as_not_finite(native, integrate):
    run = integrate(native("refuses", 1), "tsit5", 0, 1, [0])
    assert (run.status, run.culprit_stage) == ("not_finite", "derivative")
    assert run.stop_time == pytest.approx(0.5, abs=1e-12)
    assert run.rejected > 0


def test_a_short_excursion_out_of_the_domain_is_survived(python, integrate):
    """Too long a first step meets NaN; shorter ones do not."""

    def rhs(t, x, u, p):
        return [np.nan if abs(x[0] - np.exp(-t[0])) > 0.1 else -x[0]]

    run = integrate(python(rhs, 1), "dopri5", 0, 3, [1.0], first_step=3.0)
    assert (run.status, run.culprit, run.culprit_stage) == ("finished", -1, "")
    assert run.rejected > 0
    assert run.x[-1, 0] == pytest.approx(np.exp(-3), rel=1e-4)


def test_exceptions_of_callbacks_come_out(python, native, integrate):
    calls = []

    def rhs(t, x, u, p):
        calls.append(t[0])
        if t[0] > 0.3:
            raise LookupError("no such table")
        return x

    with pytest.raises(LookupError, match="no such table"):
        integrate(python(rhs, 2), "dop853", 0, 1, [1, 1])
    assert sum(t > 0.3 for t in calls) == 1
    wrong_size = python(lambda t, x, u, p: np.zeros(3), 2)
    with pytest.raises(ValueError, match="returned 3 values where 2"):
        integrate(wrong_size, "tsit5", 0, 1, [1, 1])
    with pytest.raises(TypeError):
        integrate(python(lambda t, x, u, p: None, 2), "tsit5", 0, 1, [1, 1])

    def failing(*arguments):
        raise ArithmeticError("guard")

    for options in ({"guards": python(failing, 2, out=1)}, {"progress": failing, "guards": None}):
        with pytest.raises(ArithmeticError, match="guard"):
            integrate(native("oscillator", 2), "tsit5", 0, 50, [1, 0], **options)
    resets = python(failing, 2, out=2)
    with pytest.raises(ArithmeticError, match="guard"):
        integrate(
            native("oscillator", 2),
            "tsit5",
            0,
            9,
            [1, 0],
            guards=native("height", 2, out=1),
            resets=resets,
            actions=[1],
        )


def test_an_exception_in_lazy_dense_output(python, integrate):
    broken = []

    def rhs(t, x, u, p):
        if broken:
            raise LookupError("gone")
        return -x

    run = integrate(python(rhs, 1), "tsit5", 0, 1, [1.0])
    broken.append(True)
    with pytest.raises(LookupError, match="gone"):
        run.dense()


def test_a_keyboard_interrupt_inside_a_callback_keeps_the_data(python, integrate):
    def rhs(t, x, u, p):
        if t[0] > 0.5:
            raise KeyboardInterrupt
        return -x

    run = integrate(python(rhs, 1), "tsit5", 0, 2, [1.0], max_step=0.1)
    assert run.status == "interrupted"
    assert 0.3 < run.stop_time <= 0.5
    assert run.x[:, 0] == pytest.approx(np.exp(-run.t), rel=1e-6)


def test_cancelled_from_another_thread(native, integrate):
    cancel = _core.Cancel()
    assert not cancel.is_set
    timer = threading.Timer(0.1, cancel.set)
    timer.start()
    run = integrate(native("slow_oscillator", 2), "tsit5", 0, 1e9, [1, 0], cancel=cancel, max_step=0.1)
    timer.join()
    assert cancel.is_set
    assert run.status == "cancelled"
    assert run.steps == len(run.t) - 1 > 0
    assert integrate(native("oscillator", 2), "tsit5", 0, 1e9, [1, 0], cancel=cancel).status == "cancelled"


def test_time_limit(native, integrate):
    run = integrate(native("slow_oscillator", 2), "tsit5", 0, 1e9, [1, 0], time_limit=0.05, max_step=0.1)
    assert run.status == "time_limit"
    assert run.seconds >= 0.05
    assert run.stop_time == run.t[-1] > 0


def test_progress_is_reported(native, integrate):
    seen = []
    integrate(native("slow_oscillator", 2), "tsit5", 0, 100, [1, 0], progress=seen.append, max_step=0.1)
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert seen[-1] == 100


def test_control_c_returns_what_was_computed(tmp_path):
    script = tmp_path / "long_run.py"
    script.write_text(
        textwrap.dedent(
            """
            import ctypes, subprocess, sys
            import numpy as np
            from daedalus import _core

            with open("decay.c", "w") as f:
                f.write("int decay(const double** a, double** r, long long* i, double* w, int m)"
                        "{ r[0][0] = -a[1][0]; return 0; }")
            subprocess.run(["gcc", "-shared", "-fPIC", "decay.c", "-o", "./decay.so"], check=True)
            library = ctypes.CDLL("./decay.so")
            rhs = _core.Function("decay", [1, 1, 0, 0], [1], 4, 1, 0, 0)
            rhs.set_machine_code(ctypes.cast(library.decay, ctypes.c_void_p).value, library)
            empty = np.zeros(0)
            print("ready", flush=True)
            run = _core.integrate(rhs, "tsit5", 0.0, 1e11, np.ones(1), empty, empty, step=1e-3, keep_steps=False)
            print(run.status, run.steps > 0, run.stop_time > 0, flush=True)
            print(_core.integrate(rhs, "tsit5", 0.0, 1.0, np.ones(1), empty, empty).status)
            """
        )
    )
    process = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "ready"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=600)
    assert output.split("\n")[:2] == ["interrupted True True", "finished"]
    assert process.returncode == 0


@pytest.mark.parametrize("method", METHODS)
def test_rows_fill_no_more_than_their_memory(native, integrate, method):
    """A row is a time, two numbers and what its step took; three places are kept free for a step with an event."""
    whole = integrate(native("oscillator", 2), method, 0, 1e3, [1, 0])
    assert whole.steps > 500
    run = integrate(native("oscillator", 2), method, 0, 1e3, [1, 0], memory_limit=100 * (3 + 2) * 8)
    assert (run.status, run.steps) == ("memory_limit", 97)
    assert run.t.tolist() == whole.t[:98].tolist()
    assert run.x.tolist() == whole.x[:98].tolist()


@pytest.mark.wide
@pytest.mark.skipif(sys.platform != "linux", reason="reads its own size from /proc")
def test_a_machine_without_memory_leaves_what_was_found():
    """In a process of its own that may have little more than it has: no MemoryError, and every row up to there."""
    code = """
    import resource
    import daedalus as dd, casadi as ca, numpy as np
    m = dd.Model("many")
    x = m.state("x", 400, start=np.linspace(0, 1, 400))
    m.equation(m.der(x), -ca.sin(x) * ca.cos(50 * m.time))
    dd.simulate(m, 0.1), dd.simulate(m, 0.1, method="radau5")
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + 100_000_000, limits[1]))
    for method in ("tsit5", "radau5"):
        tr = dd.simulate(m, 1e4, method=method, rtol=1e-9)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        assert not tr.success and len(tr.time) == tr.work.steps + 1 > 100
        assert np.isfinite(tr["x"]).all()
        print(tr.status, tr.stop_reason)
        resource.setrlimit(resource.RLIMIT_AS, (size + 200_000_000, limits[1]))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("memory_limit the rows of ")
        assert "fill the memory for a run, at t = " in line
        assert line.endswith("try runs one after the other, dd.simulate(m, (t, ...), start=tr.end), or a looser rtol")
