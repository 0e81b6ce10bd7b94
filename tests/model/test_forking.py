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
        faulthandler.dump_traceback_later(60, exit=True)
        os._exit(0 if run(k) else 2)
    bad += [k] * (os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0)
print(bad, flush=True)
os._exit(0)
"""


def bad_forks(count):
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKS, str(count)],
        env={"DAEDALUS_CACHE": "off", "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=90 + 10 * count, check=False,
    )  # fmt: skip
    return done.stdout, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="forks amid threads")
def test_children_of_a_process_whose_threads_prepare_models():
    assert bad_forks(6) == ("[]\n", "")


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
