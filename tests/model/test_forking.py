"""A process may fork while its other threads import, prepare and compile models: the child waits for none of them."""

import subprocess
import sys
import threading

import pytest

from daedalus.model.lazy_values import cached_property

FORKS = """
import faulthandler, os, random, sys, threading, time
import casadi as ca
import daedalus as dd

def model(k):
    m = dd.Model(f"m{k}")
    x, z, u = m.state("x", start=1.0), m.algebraic("z"), m.input("u")
    m.equation(m.der(x), -z + u * ca.sin(k * x))
    m.equation(z + 0.1 * z**3, x * (1 + 1e-3 * k))
    if k % 2:
        m.event("half", x - 0.5, direction=-1, reset={"x": 1.0})
    return m

def run(k):
    return dd.simulate(model(k), 0.05, inputs={"u": lambda t: t * k} if k % 3 else {"u": 0.0}).success

def prepare(k):
    while True:
        k += 1
        run(k)

# The first forks fall into the imports of the threads.
for first in (1000, 2000000, 3000000):
    threading.Thread(target=prepare, args=(first,), daemon=True).start()
bad, wait = [], random.Random(1)
for k in range(int(sys.argv[1])):
    time.sleep(0.1 * wait.random())
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(240, exit=True)
        os._exit(0 if run(k) else 2)
    bad += [k] * (os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0)
print(bad, flush=True)
os._exit(0)
"""


# Two threads are inside CasADi nearly all the time, most of it with the lock that a search for symbols takes.
INSIDE_CASADI = """
import faulthandler, os, sys, threading, time
import casadi as ca
import daedalus

x = ca.SX.sym("x", 20000)
mine, written = ca.SX.sym("mine"), ca.sin(x) * x

def search():
    while True:
        ca.symvar(written)

for _ in range(2):
    threading.Thread(target=search, daemon=True).start()
bad = []
for k in range(int(sys.argv[1])):
    time.sleep(0.001 * k)
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(240, exit=True)
        os._exit(0 if len(ca.symvar(mine * k)) == (k > 0) else 2)
    bad += [k] * (os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0)
print(bad, flush=True)
os._exit(0)
"""

# A call of CasADi that lasts longer than the patience of forks: none of them waits for it twice.
LONG_CALL = """
import os, sys, threading, time
import casadi as ca
import daedalus
from daedalus.model import forking

forking._GATE_PATIENCE = 0.2
inside, goes_on = threading.Event(), threading.Event()

class Slow(ca.Callback):
    def __init__(self):
        ca.Callback.__init__(self)
        self.construct("slow", {})

    def eval(self, given):
        inside.set()
        goes_on.wait()
        return given

slow = Slow()
thread = threading.Thread(target=lambda: slow(1.0))
thread.start()
inside.wait()
asked, close = [], forking._core.close_fork_gate
class Counted:
    def __getattr__(self, name):
        return getattr(core, name)
    def close_fork_gate(self, seconds):
        asked[-1] += 1
        return close(seconds)
core, forking._core = forking._core, Counted()
for k in range(int(sys.argv[1])):
    asked.append(0)
    child = os.fork()
    if child == 0:
        os._exit(0 if slow.size_in(0) == (1, 1) else 2)
    assert os.waitpid(child, 0)[1] == 0
goes_on.set()
thread.join()
print([count > 1 for count in asked], flush=True)
"""


def bad_forks(count, script=FORKS):
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, str(count)],
        env={"DAEDALUS_CACHE": "off", "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=600 + 10 * count, check=False,
    )  # fmt: skip
    return done.stdout, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="forks amid threads")
def test_children_of_a_process_whose_threads_prepare_models():
    assert bad_forks(6) == ("[]\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="forks amid threads")
def test_children_of_a_process_whose_threads_are_inside_casadi():
    assert bad_forks(8, INSIDE_CASADI) == ("[]\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="forks amid threads")
def test_forks_wait_once_for_a_call_without_end():
    assert bad_forks(3, LONG_CALL) == ("[True, False, False]\n", "")


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="forks amid threads")
def test_children_of_two_hundred_forks():
    assert bad_forks(200) == ("[]\n", "")


def test_values_of_different_objects_are_made_side_by_side():
    """Each waits for the other one: with a lock of the class neither would ever be made."""
    both = threading.Barrier(2, timeout=30)

    class Slow:
        @cached_property
        def value(self):
            both.wait()
            return object()

    one, other = Slow(), Slow()
    threads = [threading.Thread(target=lambda owner=owner: owner.value) for owner in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "value" in vars(one)
    assert "value" in vars(other)
    assert one.value is one.value is not other.value


def test_threads_that_make_one_value_at_once_get_the_same():
    both = threading.Barrier(2, timeout=30)

    class Slow:
        @cached_property
        def value(self):
            both.wait()
            return object()

    owner, found = Slow(), []
    threads = [threading.Thread(target=lambda: found.append(owner.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is owner.value
