"""CasADi's interpreter reached from C."""

import gc
import threading

import casadi as ca
import numpy as np
import pytest

from daedalus._core import Function
from daedalus.compilation import compile_function, interpreter


@pytest.fixture(autouse=True)
def _only_interpreter(monkeypatch):
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")


def test_values_are_casadis_own():
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y")
    f = ca.Function("f", [x, y], [ca.sin(x) * y, ca.norm_2(x)])
    compiled = compile_function(f)
    assert (compiled.tier, compiled.reason) == ("interpreter", "DAEDALUS_COMPILER asks for the interpreter")
    assert compiled.core.kind == "interpreter"
    xs = np.array([0.1, 0.2, 0.3])
    found, expected = compiled(xs, 2.0), f(xs, 2.0)
    assert all(np.array_equal(a, np.array(b).ravel()) for a, b in zip(found, expected))


def test_functions_of_one_name_are_kept_apart():
    x = ca.SX.sym("x")
    compiled = [compile_function(ca.Function("same", [x], [x + k])) for k in range(5)]
    assert [c(1.0)[0][0] for c in compiled] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_matrix_function_runs_too():
    m = ca.MX.sym("m", 2, 2)
    compiled = compile_function(ca.Function("inverse", [m], [ca.inv(m)]))
    assert np.allclose(compiled([2.0, 0.0, 0.0, 4.0])[0], [0.5, 0, 0, 0.25])


def test_unused_functions_leave_casadis_list():
    x = ca.SX.sym("x")
    loaded = interpreter._library().casadi_c_n_loaded
    keep = interpreter.interpret(ca.Function("keep", [x], [x]))
    before = loaded()
    temporary = [interpreter.interpret(ca.Function("temporary", [x], [x * k])) for k in range(3)]
    assert loaded() == before + 3
    del temporary
    gc.collect()
    again = interpreter.interpret(ca.Function("again", [x], [x]))
    assert loaded() == before + 1
    assert again.id == before
    assert keep.id < again.id


def test_loading_while_other_threads_evaluate():
    x = ca.SX.sym("x", 20)
    y = x
    for _ in range(20):
        y = ca.sin(y) + x
    f = ca.Function("f", [x], [y])
    compiled = compile_function(f)
    points = np.random.default_rng(0).normal(size=(20000, 20))
    expected = np.array(f(points[0])).ravel()
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(compiled.core.evaluate_many(points)[0])) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    others = [compile_function(ca.Function("other", [x], [x * k])) for k in range(40)]
    for thread in threads:
        thread.join()
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0][0], expected)
    assert all(np.array_equal(c(points[0])[0], points[0] * k) for k, c in enumerate(others))


def test_room_was_made_beforehand():
    interpreter._make_room()
    x = ca.SX.sym("x")
    count = interpreter._library().casadi_c_n_loaded()
    loaded = interpreter.interpret(ca.Function("f", [x], [x]))
    assert loaded.id <= count < interpreter._ROOM
    core = Function("f", [1], [1], 1, 1, 0, 1)
    road = interpreter.addresses()
    core.set_interpreter(road.evaluate, loaded.id, loaded)
    assert core(np.array([4.0]))[0][0] == 4.0
