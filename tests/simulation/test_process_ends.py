"""Processes that end while a daemon thread is inside the core: they end with the status they were given."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys, threading, time
import daedalus as dd
m = dd.Model("oscillator")
x = m.state("x", start=1.0); v = m.state("v", start=0.0); u = m.input("u")
m.equation(m.der(x), v); m.equation(m.der(v), u - x)
begun = threading.Event()

def watched(t):
    begun.set()

def work():
    while True:
        WORK

threading.Thread(target=work, daemon=True).start()
begun.wait(300)
time.sleep(0.05)
print("end", flush=True)
sys.exit(3)
"""

WORK = {
    "steps": "begun.set(); dd.simulate(m, 1e5, inputs={'u': 0.0}, save_at=[1e5])",
    "implicit steps": "begun.set(); dd.simulate(m, 1e4, inputs={'u': 0.0}, method='radau5', save_at=[1e4])",
    "a Python function": "dd.simulate(m, 1e4, inputs={'u': lambda t: watched(t) or 0.0}, save_at=[1e4])",
    "progress": "dd.simulate(m, 1e6, inputs={'u': 0.0}, save_at=[1e6], progress=watched)",
    "short runs": "dd.simulate(m, 1.0, inputs={'u': 0.0}); begun.set()",
}


@pytest.mark.parametrize("kind", WORK)
def test_a_daemon_thread_inside_the_core(kind):
    script = SCRIPT.replace("WORK", WORK[kind])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (3, "end\n", "")
