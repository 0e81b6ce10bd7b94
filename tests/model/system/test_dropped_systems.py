"""Dropped models are collected when memory grows, though Python's own collector saw no reason to."""

import gc
import subprocess
import sys
import weakref

import pytest

import daedalus as dd
from daedalus.model.system import dropped_systems as room
from daedalus.model.system.dropped_systems import DroppedSystems, give_back_pages, resident_bytes
from daedalus.model.system.once import once


class Computed:
    """What is computed of a system and refers to it."""

    def __init__(self, system):
        self.system = system


@pytest.fixture
def seldom():
    """Python's own collector is on, and never comes by itself."""
    known = gc.get_threshold()
    gc.collect()
    gc.set_threshold(10**9)
    yield
    gc.set_threshold(*known)


@pytest.fixture
def memory(monkeypatch):
    """Bytes in use, as they are told; and a judge of its own, which has not yet collected anything."""
    told = {"bytes": 100_000_000}
    judge = DroppedSystems()
    monkeypatch.setattr(room, "resident_bytes", lambda: told["bytes"])
    monkeypatch.setattr("daedalus.model.system.system_content.dropped_systems", judge)
    monkeypatch.setattr("daedalus.model.model.dropped_systems", judge)
    return told


def dropped_model(k):
    """A weak reference to a system that nobody has any more but what was computed of it."""
    m = dd.Model(f"m{k}")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    system = m.freeze()
    once(system, Computed)
    return weakref.ref(system)


def alive(references):
    return sum(reference() is not None for reference in references)


@pytest.mark.usefixtures("seldom")
def test_dropped_models_stay_while_memory_does_not_grow(memory):
    assert alive([dropped_model(k) for k in range(3 * room.SYSTEMS)]) == 3 * room.SYSTEMS


@pytest.mark.usefixtures("seldom")
def test_dropped_models_go_when_memory_grows(memory):
    first = [dropped_model(k) for k in range(room.SYSTEMS + 1)]
    memory["bytes"] += room.ROOM
    dropped_model(0)
    assert alive(first) == 0


@pytest.mark.usefixtures("seldom")
def test_dropped_models_go_when_many_were_made(memory):
    """Small networks left 10 kB each: memory grew too slowly to be noticed."""
    first = [dropped_model(k) for k in range(room.MANY + 1)]
    dropped_model(0)
    assert alive(first) < 3


@pytest.mark.usefixtures("seldom")
def test_a_large_process_may_grow_by_a_share(memory):
    memory["bytes"] = 1_000_000_000
    first = [dropped_model(k) for k in range(room.SYSTEMS + 1)]
    memory["bytes"] += 2 * room.ROOM
    dropped_model(0)
    assert alive(first) == room.SYSTEMS + 1
    memory["bytes"] = 1_100_000_001
    dropped_model(0)
    assert alive(first) == 0


@pytest.mark.usefixtures("seldom")
def test_who_switches_the_collector_off_is_not_disturbed(memory):
    gc.disable()
    try:
        first = [dropped_model(k) for k in range(room.SYSTEMS + 1)]
        memory["bytes"] += 10 * room.ROOM
        dropped_model(0)
        assert alive(first) == room.SYSTEMS + 1
    finally:
        gc.enable()


@pytest.mark.usefixtures("seldom")
def test_the_collector_takes_a_share_of_the_time_at_most(memory, monkeypatch):
    """It took a second: for twenty more of them it is not called again."""
    clock = {"seconds": 0.0}
    collected = []

    def collect():
        collected.append(clock["seconds"])
        clock["seconds"] += 1.0

    monkeypatch.setattr(room.time, "process_time", lambda: clock["seconds"])
    monkeypatch.setattr(room.gc, "collect", collect)
    judge = DroppedSystems()
    for k in range(50):
        for _ in range(room.SYSTEMS):
            judge.one_more()
        judge.collect()
        clock["seconds"] = max(clock["seconds"], float(k))
        memory["bytes"] += room.ROOM
    assert collected == [0.0, 21.0, 42.0]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_in_use_is_known():
    before, block = resident_bytes(), bytearray(b"x" * 50_000_000)
    assert resident_bytes() - before > 40_000_000
    del block
    give_back_pages()


GROWTH = """
import gc, resource
import daedalus as dd
from daedalus.model.system.dropped_systems import resident_bytes

gc.set_threshold(10**9)

def network(k):
    C, m = dd.components.electrical, dd.Model(f"network{k}")
    source, ground = m.add(C.VoltageSource("source", voltage=1.0 + k)), m.add(C.Ground("ground"))
    m.connect(source.minus, ground.pin)
    last = source.plus
    for j in range(12):
        r = m.add(C.Resistor(f"R{j}", resistance=1.0 + j * k))
        c = m.add(C.Capacitor(f"C{j}", capacitance=1.0 + j))
        m.connect(last, r.plus)
        m.connect(r.minus, c.plus)
        m.connect(c.minus, ground.pin)
        last = r.minus
    dd.simulate(m, 0.1)

for k in range(20):
    network(k)
before = resident_bytes()
for k in range(20, 220):
    network(k)
print((resident_bytes() - before) / 200)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_two_hundred_dropped_networks_without_a_call_of_the_collector():
    """Each held 1.5 MB until the collector came."""
    done = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, timeout=3600, check=True)
    assert float(done.stdout) < 400_000
