"""Model functions at the seam: machine code, interpreter and Python callables behind one class."""

import ctypes
import gc
import threading
import weakref

import casadi as ca
import numpy as np
import pytest

from daedalus import _core


def interpreted(tmp_path, scale=1.0):
    """x' = scale (x1, -x0) by CasADi's C interface to loaded functions."""
    t, x, u, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("u", 0), ca.SX.sym("p", 0)
    function = ca.Function("vm", [t, x, u, p], [scale * ca.vertcat(x[1], -x[0])])
    path = tmp_path / "vm.casadi"
    function.save(str(path))
    library = ctypes.PyDLL(ca._casadi.__file__)
    assert library.casadi_c_push_file(str(path).encode()) == 0
    number = library.casadi_c_n_loaded() - 1
    addresses = [
        ctypes.cast(getattr(library, f"casadi_c_{name}_id"), ctypes.c_void_p).value
        for name in ("eval", "checkout", "release")
    ]
    core = _core.Function(
        "vm", [1, 2, 0, 0], [2], function.sz_arg(), function.sz_res(), function.sz_iw(), function.sz_w()
    )
    core.set_interpreter(addresses[0], number, function, addresses[1], addresses[2])
    return core


def test_what_a_function_says_about_itself(native):
    empty = _core.Function("empty", [1, 2], [3, 4], 2, 2, 5, 6)
    assert (empty.name, empty.kind, empty.size_in, empty.size_out, empty.address) == (
        "empty",
        "empty",
        [1, 2],
        [3, 4],
        0,
    )
    empty.set_python(lambda a, b: (np.zeros(3), np.ones(4)))
    assert empty.kind == "python"
    assert [output.tolist() for output in empty([0], [1, 2])] == [[0] * 3, [1] * 4]
    machine = native("oscillator", 2)
    assert machine.kind == "machine code"
    assert machine.address != 0


def test_the_interpreter_and_machine_code_give_the_same_run(tmp_path, native, integrate):
    core = interpreted(tmp_path)
    assert core.kind == "interpreter"
    assert core([0], [1, 2], [], [])[0].tolist() == [2, -1]
    slow = integrate(core, "dop853", 0, 20, [1, 0], rtol=1e-9, atol=1e-11)
    fast = integrate(native("oscillator", 2), "dop853", 0, 20, [1, 0], rtol=1e-9, atol=1e-11)
    assert (slow.steps, slow.rhs_calls) == (fast.steps, fast.rhs_calls)
    assert slow.x == pytest.approx(fast.x, abs=1e-13)
    core.set_machine_code(native("oscillator", 2).address, None)
    assert core.kind == "machine code"


def test_threads_share_an_interpreted_function(tmp_path, integrate):
    core = interpreted(tmp_path)
    ends = [None] * 4

    def work(i):
        ends[i] = integrate(core, "tsit5", 0, 200, [1, 0], rtol=1e-8).x[-1]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((end == ends[0]).all() for end in ends)


def test_the_pointer_is_swapped_while_a_run_is_inside(tmp_path, native):
    """The run starts on a callable that releases the GIL now and then, and ends on machine code."""
    core = _core.Function("swapped", [1, 2, 0, 0], [2])
    inside, calls = threading.Event(), []

    def slow(t, x, u, p):
        inside.set()
        calls.append(1)
        return np.array([x[1], -x[0]])

    core.set_python(slow)
    runs = []

    def work():
        empty = np.zeros(0)
        runs.append(_core.integrate(core, "tsit5", 0.0, 500.0, np.array([1.0, 0.0]), empty, empty, step=1e-3))

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    core.set_machine_code(native("oscillator", 2).address, native)
    thread.join()
    assert core.kind == "machine code"
    assert len(calls) < runs[0].rhs_calls == 3_000_000
    assert runs[0].x[-1] == pytest.approx([np.cos(500), -np.sin(500)], abs=1e-9)


def test_owners_live_as_long_as_the_function(native):
    class Owner:
        pass

    owners = [Owner(), Owner()]
    alive = [weakref.ref(owner) for owner in owners]
    core = _core.Function("f", [1, 2, 0, 0], [2])
    for owner in owners:
        core.set_machine_code(native("oscillator", 2).address, owner)
    del owners, owner
    gc.collect()
    assert all(ref() is not None for ref in alive)
    del core
    gc.collect()
    assert all(ref() is None for ref in alive)


def test_cycles_through_a_callable_are_collected(integrate):
    core = _core.Function("f", [1, 1, 0, 0], [1])

    class Model:
        def rhs(self, t, x, u, p):
            return -x

    model = Model()
    core.set_python(model.rhs)
    model.core, model.run = core, integrate(core, "tsit5", 0, 1, [1.0])
    alive = weakref.ref(model)
    del model, core
    gc.collect()
    assert alive() is None


def test_many_evaluations(native):
    function = native("oscillator", 2)
    rows = np.random.default_rng(0).normal(size=(50, 2))
    (many,) = function.evaluate_many([0.0], rows, [], [])
    assert many.shape == (50, 2)
    assert (many == np.stack([rows[:, 1], -rows[:, 0]], axis=1)).all()
    (one,) = function.evaluate_many([0.0], rows[0], [], [])
    assert one.shape == (1, 2)
    assert function.evaluate_many(np.zeros((0, 1)), rows[0], [], [])[0].shape == (0, 2)
    with pytest.raises(ValueError, match="rows"):
        function.evaluate_many(np.zeros((3, 1)), rows, [], [])


def test_the_lowest_and_the_highest_of_many_evaluations(native):
    function = native("oscillator", 2)
    rows = np.random.default_rng(0).normal(size=(50, 2))
    assert function.extremes([0.0], rows, [], []) == (rows[:, 1].min(), rows[:, 1].max())
    rows[::2, 1] = np.nan
    assert function.extremes([0.0], rows, [], []) == (rows[1::2, 1].min(), rows[1::2, 1].max())
    assert function.extremes(np.zeros((0, 1)), rows[0], [], []) == (np.inf, -np.inf)
    with pytest.raises(ValueError, match="rows"):
        function.extremes(np.zeros((3, 1)), rows, [], [])


def test_a_function_without_outputs_has_no_extremes(native):
    with pytest.raises(TypeError, match="has no output"):
        _core.Function("nothing", [1], []).extremes([0.0])


def test_arguments_of_any_kind_are_taken(native):
    function = native("oscillator", 2)
    for x in ([1, 2], (1, 2), np.array([1, 2], dtype=np.int32), np.array([[1, 9], [2, 9]])[:, 0], np.float32([1, 2])):
        assert function(0.0, x, [], [])[0].tolist() == [2, -1]


def test_a_callable_may_keep_its_arguments(python, integrate):
    kept = []

    def rhs(t, x, u, p):
        kept.append(x)
        return -x

    integrate(python(rhs, 1), "tsit5", 0, 1, [1.0])
    assert len({id(x) for x in kept}) == len(kept)
    assert kept[0].tolist() == [1.0]


def test_time_per_call(native):
    assert 0 < native("oscillator", 2).time_per_call([0.0], [1.0, 2.0], [], [], repetitions=100) < 1


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([0], [1, 2], []), TypeError, "takes 4 arguments, 3 were given"),
        (([0], [1, 2, 3], [], []), ValueError, "argument 1 has 3 numbers, expected 2"),
        (([0], ["a", "b"], [], []), ValueError, "could not convert"),
        (([0], None, [], []), TypeError, "not None"),
    ],
)
def test_refused_arguments(native, arguments, error, words):
    with pytest.raises(error, match=words):
        native("oscillator", 2)(*arguments)


def test_failures_of_single_calls(native, python):
    with pytest.raises(RuntimeError, match="refuses failed"):
        native("refuses", 1)([1.0], [0], [], [])
    with pytest.raises(RuntimeError, match="empty failed"):
        _core.Function("empty", [1], [1])([0.0])

    def interrupt(t, x, u, p):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        python(interrupt, 1)([0], [0], [], [])
    with pytest.raises(ValueError, match="address"):
        _core.Function("f", [1], [1]).set_machine_code(0, None)
    with pytest.raises(ValueError, match="negative"):
        _core.Function("f", [-1], [1])


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"x0": [1.0]}, ValueError, r"x0, u, p must have the sizes \(2, 0, 0\), not \(1, 0, 0\)"),
        ({"u": [1.0]}, ValueError, r"not \(2, 1, 0\)"),
        ({"p": [1.0]}, ValueError, r"not \(2, 0, 1\)"),
        ({"t1": np.inf}, ValueError, "finite"),
        ({"t0": np.nan}, ValueError, "finite"),
        ({"method": "rk9"}, ValueError, "unknown method 'rk9'"),
        ({"method": 7}, TypeError, "name or a Tableau"),
        ({"rtol": -1.0}, ValueError, "rtol"),
        ({"rtol": np.nan}, ValueError, "rtol"),
        ({"atol": [1.0, 2.0, 3.0]}, ValueError, "atol"),
        ({"atol": [1.0, -2.0]}, ValueError, "atol"),
        ({"rtol": 0.0, "atol": 0.0}, ValueError, "atol"),
        ({"step": 0.0}, ValueError, "step"),
        ({"step": 1e-17}, ValueError, "too small"),
        ({"first_step": -1.0}, ValueError, "first_step"),
        ({"max_step": 0.0}, ValueError, "max_step"),
        ({"max_steps": -1}, ValueError, "max_steps"),
        ({"time_limit": np.nan}, ValueError, "time_limit"),
        ({"save_at": [0.5, 0.2]}, ValueError, "save_at"),
        ({"save_at": [0.5, 2.0]}, ValueError, "save_at"),
        ({"save_at": [np.nan]}, ValueError, "save_at"),
        ({"tables": [1]}, TypeError, "Table"),
        ({"rhs": _core.Function("empty", [1, 2, 0, 0], [2])}, ValueError, "empty"),
        ({"rhs": None}, TypeError, "incompatible"),
        ({"rhs": 5}, TypeError, "rhs must be a Function"),
        ({"guards": 5}, TypeError, "guards must be a Function"),
        ({"unknown": 1}, TypeError, "incompatible"),
    ],
)
def test_refused_runs(native, integrate, change, error, words):
    options = {"rhs": native("oscillator", 2), "method": "tsit5", "t0": 0.0, "t1": 1.0, "x0": [1.0, 0.0]} | change
    with pytest.raises(error, match=words):
        integrate(**options)


def test_refused_guards(native, integrate):
    rhs = native("oscillator", 2)
    with pytest.raises(ValueError, match="guards must map"):
        integrate(rhs, "tsit5", 0, 1, [1, 0], guards=native("height", 3, out=1))
    with pytest.raises(ValueError, match="resets must map"):
        integrate(rhs, "tsit5", 0, 1, [1, 0], guards=native("height", 2, out=1), resets=native("bounce", 2, out=3))
    with pytest.raises(ValueError, match="resets need guards"):
        integrate(rhs, "tsit5", 0, 1, [1, 0], resets=native("bounce", 2, out=2))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.eye(2), [1, 0], [0, 1], None, 1, 0), "explicit"),
        ((np.zeros((2, 2)), [1, 0, 0], [0, 1], None, 1, 0), "length"),
        ((np.zeros((1, 1)), [1], [0.5], None, 1, 0), "c = 0"),
        ((np.zeros((1, 1)), [1], [0], None, 0, 0), "order"),
        ((np.zeros((1, 1)), [np.nan], [0], None, 1, 0), "finite"),
        ((np.zeros((1, 1)), [1], [0], [1, 2], 1, 0), "b_hat"),
    ],
)
def test_refused_tableaux(arguments, words):
    with pytest.raises(ValueError, match=words):
        _core.Tableau(*arguments)


def test_a_tableau_without_an_error_estimate_needs_a_step(native, integrate):
    with pytest.raises(ValueError, match="needs a step"):
        integrate(native("oscillator", 2), _core.Tableau([[0]], [1], [0], None, 1, 0), 0, 1, [1, 0])
