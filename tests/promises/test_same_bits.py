"""The same call gives the same bits: first or later, interpreted or in machine code, in one thread or several."""

import hashlib
import subprocess
import sys
import threading
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.compilation import background

# Long to prepare, and of no other kind than those below.
SLOW = {
    "fekete", "two_bit_adder", "medical_akzo", "water_tube", "wheelset", "emep", "nand_gate", "ring_modulator",
    "four_bar", "rolling_disc", "delta_robot", "charge_pump", "rod_chain",
}  # fmt: skip
STEPS = 40


def digest(known: catalogue.KnownSystem) -> str:
    """Every bit of the times and rows of the first steps of a run."""
    tr = dd.simulate(known.model, known.span, start=known.start, inputs=known.inputs, max_steps=STEPS)
    names = [name for name in tr if name not in tr.system.labels["p"]]
    return hashlib.sha256(b"".join([tr.time.tobytes(), *(tr[name].tobytes() for name in names)])).hexdigest()


@pytest.mark.parametrize("name", sorted(set(catalogue.names()) - SLOW))
def test_calls_and_threads_agree_to_the_last_bit(name):
    known = catalogue.load(name)
    found = [digest(known)]
    background.finish()  # what began on the interpreter is machine code now
    found.append(digest(known))
    threads = [threading.Thread(target=lambda: found.append(digest(known))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def long_model() -> dd.Model:
    """A right-hand side of some 4000 instructions in which fused products would round otherwise."""
    m = dd.Model("long")
    x = m.state("x", 2, start=[0.3, 0.2])
    value = x
    for k in range(400):
        value = ca.sin(value) * (1.0 + 0.001 * k) + 0.1 * value[::-1]
    m.equation(m.der(x), 0.1 * value - x)
    return m


def test_a_long_function_has_one_value_on_the_interpreter_and_in_machine_code(monkeypatch, tmp_path):
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))  # code on the disk would not see the interpreter
    jobs = []
    monkeypatch.setattr(background, "submit", jobs.append)
    m = long_model()
    first = dd.simulate(m, 1.0)
    assert jobs
    monkeypatch.undo()
    for job in jobs:
        job()
    second = dd.simulate(m, 1.0)
    assert np.array_equal(first.time, second.time)
    assert np.array_equal(first["x"], second["x"])


FRESH = """
import test_same_bits, daedalus as dd
m = test_same_bits.long_model()
for _ in range(2):
    print(*(value.hex() for value in dd.simulate(m, 1.0)["x"].ravel().tolist()))
"""


def test_neither_the_cache_nor_the_process_changes_a_result(tmp_path):
    environment = {"DAEDALUS_CACHE": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", FRESH], env=environment, cwd=Path(__file__).parent,
            capture_output=True, text=True, check=True, timeout=600,
        ).stdout.splitlines()
        for _ in range(2)
    ]  # fmt: skip
    assert len({line for lines in outputs for line in lines}) == 1


def parallelogram() -> dd.Model:
    """A four-bar linkage of planar bodies with equal cranks, which lies on one line at its dead centres."""
    m = dd.Model("parallelogram")
    angle, rate, lengths, ends = 0.5, 3.0, (1.0, 2.0, 1.0), ([0.0, 0.0], None, [2.0, 0.0])
    crank = np.array([np.cos(angle), np.sin(angle)])
    turning = rate * np.array([-crank[1], crank[0]])
    bodies = [
        m.body(name, 1.0, 0.1, "planar", position=place, velocity=speed, rotation=turn, angular_velocity=spin)
        for name, place, speed, turn, spin in (
            ("left", crank / 2, turning / 2, angle, rate),
            ("coupler", crank + np.array([1.0, 0.0]), turning, 0.0, 0.0),
            ("right", crank / 2 + np.array([2.0, 0.0]), turning / 2, angle, rate),
        )
    ]
    left, coupler, right = bodies
    m.joint("a", "revolute", dd.ground, left, at_a=ends[0], at_b=[-lengths[0] / 2, 0.0])
    m.joint("b", "revolute", left, coupler, at_a=[lengths[0] / 2, 0.0], at_b=[-lengths[1] / 2, 0.0])
    m.joint("c", "revolute", coupler, right, at_a=[lengths[1] / 2, 0.0], at_b=[lengths[2] / 2, 0.0])
    m.joint("d", "revolute", dd.ground, right, at_a=ends[2], at_b=[-lengths[2] / 2, 0.0])
    return m


def test_a_four_bar_through_its_dead_centre_ends_alike_each_time():
    m = parallelogram()
    first = dd.simulate(m, 2.0)
    background.finish()
    for again in (dd.simulate(m, 2.0), dd.simulate(parallelogram(), 2.0)):
        assert (again.status, again.stop_reason) == (first.status, first.stop_reason)
        assert np.array_equal(again["left.angle"], first["left.angle"])
