"""What is computed of a system: made once, also under threads and forks, bounded, and gone with the system."""

import contextlib
import copy
import gc
import pickle
import subprocess
import sys
import threading
import weakref

import casadi as ca
import pytest

import daedalus as dd
from daedalus.compilation import Compiled
from daedalus.model.system.closed_loop import closed_loop, opened
from daedalus.model.system.equal_expressions import EqualExpressions
from daedalus.model.system.once import MOST_KEPT, By, kept, once
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.plants import implicit_plant_of, plant_of

# In the child the thread that was making the result does not exist.
FORK = """
import os, threading, daedalus as dd
from daedalus.model.system.once import once
model = dd.Model("decay")
x = model.state("x", start=1.0)
model.equation(model.der(x), -x)
system = model.freeze()
begun, parent = threading.Event(), os.getpid()
def make(system):
    begun.set()
    while os.getpid() == parent and not over.is_set():
        over.wait(0.01)
    return os.getpid()
over = threading.Event()
thread = threading.Thread(target=once, args=(system, make))
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    os._exit(0 if once(system, make) == os.getpid() else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
over.set()
thread.join()
assert once(system, make) == parent
print("both done")
"""


def decay():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    u = m.input("u")
    m.equation(m.der(x), -x + u)
    return m


class Counted:
    """Makes a new object each time and counts."""

    def __init__(self):
        self.keys = []

    def __call__(self, system, *key):
        self.keys.append(key)
        return Thing()


class Thing:
    """Something that can be referred to weakly."""


def test_the_second_call_finds_what_the_first_one_made():
    system, make = decay().freeze(), Counted()
    assert once(system, make) is once(system, make)
    assert once(system, make, 1, "a") is once(system, make, 1, "a")
    assert once(system, make, 1, "a") is not once(system, make, 1, "b")
    assert make.keys == [(), (1, "a"), (1, "b")]


def test_each_make_and_each_system_has_results_of_its_own():
    one, other = decay().freeze(), decay().freeze()
    first, second = Counted(), Counted()
    results = [once(system, make) for system in (one, other) for make in (first, second)]
    assert len({id(result) for result in results}) == 4
    assert kept(one, first) == (results[0],)
    assert kept(one, len) == ()


def test_none_is_a_result_too():
    system, calls = decay().freeze(), []
    for _ in range(2):
        assert once(system, nothing, By(calls)) is None
    assert len(calls) == 1


def nothing(system, calls):
    calls.value.append(1)


def test_threads_wait_for_the_one_that_makes_it():
    system, calls, begin = decay().freeze(), [], threading.Barrier(8)

    def make(system):
        calls.append(threading.get_ident())
        threading.Event().wait(0.05)
        return object()

    def ask():
        begin.wait()
        found.append(once(system, make))

    found = []
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_different_things_are_made_side_by_side():
    """Two threads, each making for one system what needs something of the other system: neither waits for ever."""
    systems, met = [decay().freeze(), decay().freeze()], threading.Barrier(2, timeout=300)

    def outer(system, other):
        met.wait()
        return once(other.value, inner)

    def inner(system):
        return system.name

    found = []
    threads = [
        threading.Thread(target=lambda k=k: found.append(once(systems[k], outer, By(systems[1 - k]))), daemon=True)
        for k in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == ["decay", "decay"]


def test_a_make_may_ask_for_other_things():
    def total(system, n):
        return n + (once(system, total, n - 1) if n else 0)

    system = decay().freeze()
    assert once(system, total, 4) == 10
    assert kept(system, total) == (0, 1, 3, 6, 10)


def test_a_make_that_needs_itself_is_refused():
    def circle(system):
        return once(system, circle)

    with pytest.raises(RecursionError, match="circle of 'decay' needs itself"):
        once(decay().freeze(), circle)


def test_a_failing_make_leaves_nothing_behind():
    system, calls = decay().freeze(), []

    def make(system):
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("not yet")
        return "made"

    with pytest.raises(ValueError, match="not yet") as caught:
        once(system, make)
    assert caught.value.__context__ is None
    assert kept(system, make) == ()
    assert once(system, make) == "made"


def test_whoever_waited_for_a_failing_make_tries_for_himself():
    system, begun, results = decay().freeze(), threading.Event(), []

    def make(system):
        if not begun.is_set():
            begun.set()
            threading.Event().wait(0.05)
            raise ValueError("not yet")
        return "made"

    def first():
        with contextlib.suppress(ValueError):
            results.append(once(system, make))

    thread = threading.Thread(target=first)
    thread.start()
    begun.wait()
    results.append(once(system, make))
    thread.join()
    assert results == ["made"]


def test_the_oldest_goes_beyond_the_bound():
    system, make = decay().freeze(), Counted()
    things = [once(system, make, k, most=3) for k in range(5)]
    assert kept(system, make) == tuple(things[2:])
    for k in range(2 * MOST_KEPT):
        once(system, make, "many", k)
    assert len(kept(system, make)) == MOST_KEPT


def test_keys_that_cannot_be_hashed_go_by_another():
    system, make = decay().freeze(), Counted()
    with pytest.raises(TypeError, match="unhashable"):
        once(system, make, {"x": 1.0})
    assert once(system, make, By({"x": 1.0}, ("x", 1.0))) is once(system, make, By({"x": 1.0}, ("x", 1.0)))
    assert once(system, make, By({"x": 1.0}, ("x", 1.0))) is not once(system, make, By({"x": 2.0}, ("x", 2.0)))
    assert once(system, make, By([1])) is once(system, make, By([2]))


def test_only_the_key_of_a_value_is_kept():
    system, make, value = decay().freeze(), Counted(), Thing()
    once(system, make, By(value, "key"))
    make.keys.clear()
    gone = weakref.ref(value)
    del value
    assert gone() is None


def test_expressions_are_found_again_where_they_say_the_same():
    m = decay()
    x, system = m["x"], m.freeze()
    closed = closed_loop(system, {"u": -2 * x})
    assert closed_loop(system, {"u": -2 * x}) is closed
    assert closed_loop(system, {"u": -3 * x}) is not closed
    assert closed_loop(system, {}) is system
    assert opened(closed) is system
    assert opened(system) is system
    assert EqualExpressions({"u": x}) != EqualExpressions({"v": x})
    assert EqualExpressions({"u": x}) != EqualExpressions({"u": ca.vertcat(x, x)})


def test_the_memory_is_no_part_of_the_system():
    system, make = decay().freeze(), Counted()
    record, digest = system.to_record(), system.digest
    once(system, make)
    assert system.to_record() == record
    assert pickle.loads(pickle.dumps(system)).digest == digest
    twin = pickle.loads(pickle.dumps(system))
    assert twin == system
    assert kept(twin, make) == ()
    assert copy.copy(system) is copy.deepcopy(system) is system


def test_a_system_stays_frozen():
    system = decay().freeze()
    once(system, Counted())
    with pytest.raises(AttributeError, match="frozen snapshot"):
        system.anything = 1


def test_results_go_with_the_system_at_once():
    """By counting references alone: the door adds no circle."""
    system = decay().freeze()
    gone = weakref.ref(once(system, Counted())), weakref.ref(system)
    gc.disable()
    try:
        del system
        assert [reference() for reference in gone] == [None, None]
    finally:
        gc.enable()


def test_machine_code_goes_with_the_system():
    m = decay()
    for method in ("auto", "radau5"):
        dd.simulate(m, 1.0, inputs={"u": -2 * m["x"]}, method=method)
        dd.simulate(m, 1.0, inputs={"u": 1.0}, method=method)
    system = m.freeze()
    plants = plant_of(system), implicit_plant_of(system)
    code = [part for plant in plants for part in vars(plant).values() if isinstance(part, Compiled)]
    assert code
    gone = [weakref.ref(thing) for thing in (system, *plants, *code)]
    del m, system, plants, code
    gc.collect()
    assert [reference() for reference in gone if reference() is not None] == []


def test_a_child_does_not_wait_for_threads_of_its_parent():
    ran = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=600, check=True)
    assert ran.stdout.strip() == "both done"


def test_results_have_their_type():
    system = decay().freeze()
    assert isinstance(plant_of(system), Plant)
    assert isinstance(implicit_plant_of(system), ImplicitPlant)
