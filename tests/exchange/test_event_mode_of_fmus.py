"""Co-simulation of FMI 3: steps inside a communication step are told, it may end early, and importers handle events."""

import ctypes
import xml.etree.ElementTree as ElementTree
import zipfile

import numpy as np
import pytest

import daedalus as dd

Real, Flag, Size = ctypes.c_double, ctypes.c_bool, ctypes.c_size_t
Update = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, Real, Flag, Flag, Flag, Flag, ctypes.POINTER(Flag), ctypes.POINTER(Real)
)


def ball():
    m = dd.Model("ball")
    h, v, e = m.state("h", start=1.0), m.state("v", start=0.0), m.parameter("e", 0.8)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -e * v})
    return m


def counter():
    """A sampled integral beside a decay."""
    m = dd.Model("counter")
    x, n = m.state("x", start=1.0), m.discrete("n", start=0.0)
    m.equation(m.der(x), -x)
    m.every(0.25, {"n": n + x})
    m.output("sum", n)
    return m


class Unit:
    """A co-simulation FMU of FMI 3 in this process, called as an importer does."""

    def __init__(self, model, folder, events=False, early=False, update=None, **options):
        written = dd.exchange.fmu(model, folder / "unit.fmu", version=3, kind="co_simulation", rtol=1e-9, **options)
        with zipfile.ZipFile(written.path) as archive:
            archive.extractall(folder)
        self.root = ElementTree.parse(folder / "modelDescription.xml").getroot()
        self.references = {v.get("name"): int(v.get("valueReference")) for v in self.root.iter("Float64")}
        (library,) = (folder / "binaries").rglob("*.so")
        self.dll = ctypes.CDLL(str(library))
        make = self.dll.fmi3InstantiateCoSimulation
        make.restype = ctypes.c_void_p
        self.update = Update(update) if update else ctypes.cast(None, Update)
        token, place = self.root.get("instantiationToken").encode(), str(folder / "resources").encode()
        no, none = Flag(False), None
        made = make(b"it", token, place, no, no, Flag(events), Flag(early), none, Size(0), none, none, self.update)
        self.me = ctypes.c_void_p(made)
        self("EnterInitializationMode", no, Real(0), Real(0), no, Real(0))
        self("ExitInitializationMode")

    def __call__(self, name, *arguments):
        assert getattr(self.dll, f"fmi3{name}")(self.me, *arguments) == 0, name

    def get(self, *names):
        values, n = (Real * len(names))(), Size(len(names))
        self("GetFloat64", (ctypes.c_uint32 * len(names))(*(self.references[k] for k in names)), n, values, n)
        return list(values)

    def step(self, t, h):
        """(event needed, terminated, early, reached) of one communication step."""
        flags, last = [Flag() for _ in range(3)], Real()
        self("DoStep", Real(t), Real(h), Flag(True), *(ctypes.byref(f) for f in flags), ctypes.byref(last))
        return *(f.value for f in flags), last.value

    def handle_events(self):
        """Event mode until nothing is left to do; when the next time event is."""
        self("EnterEventMode")
        flags, time = [Flag(True) for _ in range(5)], Real()
        while flags[0].value:
            self("UpdateDiscreteStates", *(ctypes.byref(f) for f in flags), ctypes.byref(time))
        self("EnterStepMode")
        return time.value if flags[4].value else None


def test_the_description_tells_what_steps_can_do(tmp_path):
    kind = Unit(ball(), tmp_path).root.find("CoSimulation")
    for able in (
        "providesIntermediateUpdate",
        "hasEventMode",
        "mightReturnEarlyFromDoStep",
        "canReturnEarlyAfterIntermediateUpdate",
    ):
        assert kind.get(able) == "true"


def test_events_are_left_to_an_importer_that_handles_them(tmp_path):
    unit = Unit(ball(), tmp_path, events=True, early=True)
    unit.handle_events()
    t, bounces = 0.0, []
    while t < 2.0:
        needed, ended, early, reached = unit.step(t, 2.0 - t)
        assert not ended
        assert early == (reached < 2.0)
        t = reached
        if needed:
            before = unit.get("h", "v")
            unit.handle_events()
            assert unit.get("v")[0] == pytest.approx(-0.8 * before[1], rel=1e-12)
            bounces.append(t)
    tr = dd.simulate(ball(), 2.0, rtol=1e-10, atol=1e-12)
    assert bounces == pytest.approx([e.time for e in tr.events], abs=1e-8)
    assert unit.get("h", "v") == pytest.approx([tr["h"][-1], tr["v"][-1]], abs=1e-7)


def test_ticks_are_left_to_an_importer_too(tmp_path):
    unit = Unit(counter(), tmp_path, events=True, early=True)
    assert unit.handle_events() == pytest.approx(0.25)
    t, ticks = 0.0, [0.0]
    while t < 1.1:
        needed, _, _, t = unit.step(t, 1.1 - t)
        if needed:
            ticks.append(t)
            assert unit.handle_events() == pytest.approx(t + 0.25)
    assert ticks == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])
    assert unit.get("sum")[0] == pytest.approx(np.exp(-0.25 * np.arange(5)).sum(), rel=1e-8)


def test_an_importer_without_event_mode_sees_whole_steps(tmp_path):
    alone = Unit(ball(), tmp_path)
    assert alone.step(0.0, 2.0) == (False, False, False, 2.0)
    tr = dd.simulate(ball(), 2.0, rtol=1e-10, atol=1e-12)
    assert alone.get("h")[0] == pytest.approx(tr["h"][-1], abs=1e-7)


def test_steps_inside_are_told_and_may_be_the_last(tmp_path):
    seen = []

    def update(_, t, may_set, may_get, finished, may_return, early, until):
        assert (may_set, may_get, finished, may_return) == (False, True, True, True)
        seen.append((t, unit.get("time", "h")))
        if t > 0.0:
            early[0], until[0] = True, 0.25

    unit = Unit(ball(), tmp_path, early=True, update=update)
    assert unit.step(0.0, 0.4) == (False, False, True, 0.25)
    assert len(seen) > 1
    for t, (now, height) in seen:
        assert now == t
        assert height == pytest.approx(1 - 0.5 * 9.81 * t**2, abs=1e-9)


def test_saved_states_do_not_carry_the_importer(tmp_path):
    calls = []
    unit = Unit(ball(), tmp_path, update=lambda *given: calls.append(given[1]))
    state = ctypes.c_void_p()
    unit("GetFMUState", ctypes.byref(state))
    unit.step(0.0, 0.3)
    once = list(calls)
    unit("SetFMUState", state)
    calls.clear()
    unit.step(0.0, 0.3)
    assert calls == once
    unit("FreeFMUState", ctypes.byref(state))
