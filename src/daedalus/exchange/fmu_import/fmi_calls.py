"""The C interface of FMI 2.0 and 3.0, called by ctypes. Standard library only: a process of its own runs this file.

Written against the texts of the two specifications. Numbers travel as lists of floats, whatever type they have inside.
"""

from __future__ import annotations

import ctypes
import math
import os
from ctypes import byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint32, c_void_p
from typing import Any

# Of fmi2Status and fmi3Status.
DISCARD, ERROR = 2, 3
ROUNDS = 1000  # of an event iteration
# An indicator that an event left at zero is looked at so often, each time so much later.
SETTLING, SOON = 3, 1e-10
C_TYPES = {
    "Float64": c_double, "Float32": ctypes.c_float, "Int8": ctypes.c_int8, "UInt8": ctypes.c_uint8,
    "Int16": ctypes.c_int16, "UInt16": ctypes.c_uint16, "Int32": ctypes.c_int32, "UInt32": ctypes.c_uint32,
    "Int64": ctypes.c_int64, "UInt64": ctypes.c_uint64, "Boolean": c_bool, "Enumeration": ctypes.c_int64,
}  # fmt: skip
NAMES_OF_2 = {"Float64": "Real", "Int32": "Integer", "Enumeration": "Integer", "Boolean": "Boolean"}


class FmiError(Exception):
    """A call that the FMU answered with an error: the function, its status, and what the FMU logged."""

    def __init__(self, function: str, status: int, told: str = "") -> None:
        super().__init__(f"{function} returned status {status}" + (f": {told}" if told else ""))


class Discarded(Exception):
    """The FMU has no values at this point."""


class _Info2(ctypes.Structure):
    _fields_ = [(n, c_int) for n in ("again", "terminate", "nominals", "values", "defined")] + [("time", c_double)]


class FmiGroup:
    """Variables that are read or set together, in the order of the caller: runs of one type are one call."""

    def __init__(self, version: int, entries: list[list[Any]]) -> None:
        self.size = sum(int(size) for _, _, size in entries)
        self.runs: list[tuple[str, Any, int, Any, int]] = []
        at = 0
        while at < len(entries):
            kind = entries[at][0]
            end = at
            while end < len(entries) and entries[end][0] == kind:
                end += 1
            references = (c_uint32 * (end - at))(*[int(entry[1]) for entry in entries[at:end]])
            count = sum(int(entry[2]) for entry in entries[at:end])
            c_type = c_int if version == 2 and kind != "Float64" else C_TYPES[kind]
            word = NAMES_OF_2[kind] if version == 2 else "Int64" if kind == "Enumeration" else kind
            self.runs.append((word, references, end - at, c_type, count))
            at = end
        self.entries = entries


def _converted(c_type: Any, values: list[float]) -> Any:
    if c_type in (c_double, ctypes.c_float):
        return (c_type * max(1, len(values)))(*values)
    if c_type is c_bool:
        return (c_type * max(1, len(values)))(*[value > 0.5 for value in values])
    return (c_type * max(1, len(values)))(*[round(value) for value in values])


class FmuInstance:
    """One FMU with one instance at a time.

    spec: library, resources, version, kind, token, name, states, indicators, directional, and the groups of variables.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec, self.version = spec, int(spec["version"])
        self.library = ctypes.CDLL(spec["library"])
        self.nx, self.ng = int(spec["states"]), int(spec["indicators"])
        self.groups = {name: FmiGroup(self.version, entries) for name, entries in spec["groups"].items()}
        self.told: list[str] = []
        self.instance: Any = None
        self.kept: dict[int, Any] = {}
        self.next_handle = 1
        self.x: Any = (c_double * max(1, self.nx))()
        self.rates_room = (c_double * max(1, self.nx))()
        self.indicator_room = (c_double * max(1, self.ng))()
        self.domains: list[bool] = []
        self.next_time = math.inf
        self.inputs_now: list[float] | None = None
        self.discrete_now: list[float] | None = None
        self.at: tuple[Any, ...] | None = None
        self._make_callbacks()

    # -- calls ------------------------------------------------------------------------------------------------

    def f(self, name: str) -> Any:
        """A function of the library."""
        return getattr(self.library, f"fmi{self.version}{name}")

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the library and look at its status."""
        status = self.f(name)(self.instance, *arguments)
        if status == DISCARD:
            raise Discarded(name)
        if status > DISCARD or status < 0:
            raise FmiError(f"fmi{self.version}{name}", status, "; ".join(self.told[-3:]))

    def _tell(self, message: Any) -> None:
        if message and len(self.told) < 200:
            self.told.append(bytes(message)[:300].decode("utf-8", "replace"))

    def _make_callbacks(self) -> None:
        if self.version == 3:
            log = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)
            self.log = log(lambda _e, _s, _c, message: self._tell(message))
            return
        logger = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_int, c_char_p, c_char_p)
        allocate, free = ctypes.CFUNCTYPE(c_void_p, c_size_t, c_size_t), ctypes.CFUNCTYPE(None, c_void_p)

        class Callbacks(ctypes.Structure):
            _fields_ = [("log", logger), ("allocate", allocate), ("free", free), ("done", c_void_p), ("env", c_void_p)]

        c_library: Any = ctypes.CDLL(None) if os.name == "posix" else ctypes.CDLL("msvcrt")
        c_library.calloc.restype, c_library.calloc.argtypes = c_void_p, [c_size_t, c_size_t]
        c_library.free.restype, c_library.free.argtypes = None, [c_void_p]
        self.log = logger(lambda _e, _i, _s, _c, message: self._tell(message))
        self.allocate, self.free_memory = allocate(c_library.calloc), free(c_library.free)
        self.callbacks = Callbacks(self.log, self.allocate, self.free_memory, None, None)

    def _instantiate(self) -> None:
        self.close()
        name, token = str(self.spec["name"]).encode(), str(self.spec["token"]).encode()
        self.told.clear()
        exchange = self.spec["kind"] == "model_exchange"
        if self.version == 2:
            make = self.f("Instantiate")
            make.restype = c_void_p
            place = str(self.spec["resources_uri"]).encode()
            made = make(name, c_int(0 if exchange else 1), token, place, byref(self.callbacks), c_int(0), c_int(0))
        else:
            make = self.f("InstantiateModelExchange" if exchange else "InstantiateCoSimulation")
            make.restype = c_void_p
            place = str(self.spec["resources"]).encode()
            no = c_bool(False)
            more = () if exchange else (no, no, None, c_size_t(0))
            tail = (None, self.log) if exchange else (None, self.log, None)
            made = make(name, token, place, no, no, *more, *tail)
        if not made:
            raise FmiError(f"fmi{self.version}Instantiate", ERROR, "; ".join(self.told[-3:]) or "no instance was made")
        self.instance = c_void_p(made)

    def close(self) -> None:
        """End the instance."""
        if self.instance is not None:
            for state in self.kept.values():
                self.f("FreeFMUstate" if self.version == 2 else "FreeFMUState")(self.instance, byref(state))
            self.kept.clear()
            free = self.f("FreeInstance")
            free.restype = None
            free(self.instance)
        self.instance = None

    # -- values -----------------------------------------------------------------------------------------------

    def get(self, group: FmiGroup) -> list[float]:
        """The values of variables."""
        found: list[float] = []
        for word, references, count, c_type, size in group.runs:
            room = (c_type * max(1, size))()
            more = (c_size_t(size),) if self.version == 3 else ()
            self.call(f"Get{word}", references, c_size_t(count), room, *more)
            found += [float(value) for value in room[:size]]
        return found

    def set(self, group: FmiGroup, values: list[float]) -> None:
        """Set variables."""
        at = 0
        for word, references, count, c_type, size in group.runs:
            room = _converted(c_type, values[at : at + size])
            at += size
            more = (c_size_t(size),) if self.version == 3 else ()
            self.call(f"Set{word}", references, c_size_t(count), room, *more)

    # -- life -------------------------------------------------------------------------------------------------

    def start(self, t: float, tolerance: float, given: list[float], inputs: list[float]) -> list[float]:
        """A new instance with the values of the group "given" and "inputs", at a time; see `happened`."""
        self._instantiate()
        self._set_given(given)
        some = tolerance > 0
        if self.version == 2:
            self.call("SetupExperiment", c_int(some), c_double(tolerance), c_double(t), c_int(0), c_double(0.0))
            self.call("EnterInitializationMode")
        else:
            self.call(
                "EnterInitializationMode", c_bool(some), c_double(tolerance), c_double(t), c_bool(False), c_double(0)
            )
        self._set_inputs_first(inputs)
        self.call("ExitInitializationMode")
        self.at, self.next_time = None, math.inf
        if self.spec["kind"] != "model_exchange":
            return []
        return self._happen(t)

    def _set_given(self, given: list[float]) -> None:
        """Set the values of the group "given"; NaN stands for one that the FMU has already."""
        entries, values, at = [], [], 0
        for entry in self.groups["given"].entries:
            own = given[at : at + int(entry[2])]
            at += int(entry[2])
            if not any(math.isnan(value) for value in own):
                entries.append(entry)
                values += own
        self.set(FmiGroup(self.version, entries), values)

    def _set_inputs_first(self, inputs: list[float]) -> None:
        count = self.groups["inputs"].size
        self.set(self.groups["inputs"], inputs[:count])
        self.set(self.groups["discrete_inputs"], inputs[count:])
        self.discrete_now = inputs[count:]

    def _happen(self, t: float) -> list[float]:
        """Event mode to its fixed point, then continuous time: states, next time, end, and whether states changed."""
        changed = terminate = False
        self.next_time = math.inf
        for _ in range(ROUNDS):
            if self.version == 2:
                info = _Info2()
                self.call("NewDiscreteStates", byref(info))
                again, stop, values = bool(info.again), bool(info.terminate), bool(info.values)
                self.next_time = info.time if info.defined else math.inf
            else:
                flags, time = [c_bool() for _ in range(5)], c_double()
                self.call("UpdateDiscreteStates", *[byref(flag) for flag in flags], byref(time))
                again, stop, values = flags[0].value, flags[1].value, flags[3].value
                self.next_time = time.value if flags[4].value else math.inf
            changed, terminate = changed or values, terminate or stop
            if not again or stop:
                break
        else:
            raise FmiError("the event iteration", ERROR, f"no end after {ROUNDS} rounds")
        self.call("EnterContinuousTimeMode")
        if self.nx:
            self.call("GetContinuousStates", self.x, c_size_t(self.nx))
        self.domains = [value > 0 for value in self._indicators()]
        self.at = None
        if self.next_time <= t:
            self.next_time = math.inf if self.next_time < t - 1e-9 * (1 + abs(t)) else self.next_time
        return [*self.x[: self.nx], self.next_time, float(terminate), float(changed)]

    def _place(self, t: float, x: list[float], inputs: list[float]) -> None:
        """Set time, states and inputs."""
        key = (t, x, inputs)
        if self.at == key:
            return
        self.at = None
        self.call("SetTime", c_double(t))
        if self.nx:
            self.x[: self.nx] = x
            self.call("SetContinuousStates", self.x, c_size_t(self.nx))
        count = self.groups["inputs"].size
        discrete = inputs[count:]
        if discrete and discrete != self.discrete_now:
            # Discrete inputs may change in event mode only; states that this would change are put back.
            self.call("EnterEventMode")
            self.set(self.groups["inputs"], inputs[:count])
            self.set(self.groups["discrete_inputs"], discrete)
            self._happen(t)
            self.discrete_now = discrete
            if self.nx:
                self.x[: self.nx] = x
                self.call("SetContinuousStates", self.x, c_size_t(self.nx))
        elif count:
            self.set(self.groups["inputs"], inputs[:count])
        self.at = key

    def _rates(self) -> list[float]:
        if not self.nx:
            return []
        word = "GetDerivatives" if self.version == 2 else "GetContinuousStateDerivatives"
        self.call(word, self.rates_room, c_size_t(self.nx))
        return list(self.rates_room[: self.nx])

    def _indicators(self) -> list[float]:
        if not self.ng:
            return []
        self.call("GetEventIndicators", self.indicator_room, c_size_t(self.ng))
        return list(self.indicator_room[: self.ng])

    def evaluate(self, what: str, t: float, x: list[float], inputs: list[float]) -> list[float]:
        """Rates, outputs, or the distance to the next event at a point; NaN where the FMU has no values."""
        size = {"rates": self.nx, "guard": 1}.get(what) or (self.groups[what].size if what in self.groups else 0)
        try:
            self._place(t, x, inputs)
            if what == "rates":
                return self._rates()
            if what == "guard":
                return [self._guard(t)]
            return self.get(self.groups[what])
        except Discarded:
            self.at = None
            return [math.nan] * size

    def _guard(self, t: float) -> float:
        """Positive until an indicator leaves the domain it was in (z > 0 or z <= 0), or the next time event."""
        nearest = min(self.next_time - t, 1.0)
        for positive, value in zip(self.domains, self._indicators()):
            nearest = min(nearest, value if positive else -value)
        return nearest

    def event(self, t: float, x: list[float], inputs: list[float]) -> list[float]:
        """Let an event happen: states, next time, whether to end."""
        self._place(t, x, inputs)
        if self.next_time - t <= 1e-12 * (1 + abs(t)):
            t = max(t, self.next_time)
        elif self.ng:
            t, x = self._beyond(t, x, inputs)
        self._place(t, x, inputs)
        self._completed_step()
        self.call("EnterEventMode")
        found = self._happen(t)
        # An indicator that an event left at zero, and that changes its domain at once, would be taken for rounding.
        for _ in range(SETTLING):
            if not self.ng or found[-2]:
                break
            soon = self._beyond(t, found[: self.nx], inputs, SOON)
            # The way may be too short for the time to show it.
            if soon[1] == found[: self.nx]:
                break
            self._place(*soon, inputs)
            self._completed_step()
            self.call("EnterEventMode")
            more = self._happen(soon[0])
            changed = max(found[-1], more[-1])
            found = [*(more[: self.nx] if more[-1] else found[: self.nx]), *more[self.nx : -1], changed]
        return found

    def _completed_step(self) -> None:
        if self.version == 2:
            flags = [c_int(), c_int()]
            self.call("CompletedIntegratorStep", c_int(1), *[byref(flag) for flag in flags])
        else:
            truths = [c_bool(), c_bool()]
            self.call("CompletedIntegratorStep", c_bool(True), *[byref(flag) for flag in truths])

    def _beyond(
        self, t: float, x: list[float], inputs: list[float], furthest: float = 1e-4
    ) -> tuple[float, list[float]]:
        """The first point along the motion at which an indicator has changed its domain: a root is not always there."""
        self._place(t, x, inputs)
        slope = self._rates()
        dt = 0.0
        for _ in range(70):
            moved = [value + dt * rate for value, rate in zip(x, slope)]
            self._place(t + dt, moved, inputs)
            if any((value > 0) != positive for value, positive in zip(self._indicators(), self.domains)):
                return t + dt, moved
            dt = max(2 * dt, 1e-17 * (1 + abs(t)))
            if dt > furthest * (1 + abs(t)):
                break
        return t, x

    # -- derivatives ------------------------------------------------------------------------------------------

    def jacobian(self, what: str, t: float, x: list[float], inputs: list[float], nominal: list[float]) -> list[float]:
        """d(rates or outputs) / d(t, x, inputs) by columns: the FMU's own where it has them, else differences."""
        self._place(t, x, inputs)
        columns = [self._difference(what, t, x, inputs, -1, nominal)]
        known = [*self.spec["known_x"], *self.groups["inputs"].entries]
        exact = bool(self.spec["directional"]) and all(e[0] == "Float64" for e in [*known, *self._unknown(what)])
        position = 0
        for entry in known:
            for k in range(int(entry[2])):
                if exact:
                    columns.append(self._along(what, entry, k))
                else:
                    columns.append(self._difference(what, t, x, inputs, position, nominal))
                position += 1
        size = len(columns[0])
        columns += [[0.0] * size] * self.groups["discrete_inputs"].size
        return [value for column in columns for value in column]

    def _unknown(self, what: str) -> list[list[Any]]:
        if what == "guard":
            return [["Guard", 0, 1]]
        return self.spec["unknown_rates"] if what == "rates" else self.groups[what].entries

    def _along(self, what: str, entry: list[Any], k: int) -> list[float]:
        unknown = self._unknown(what)
        references = (c_uint32 * max(1, len(unknown)))(*[int(e[1]) for e in unknown])
        size = sum(int(e[2]) for e in unknown)
        seed = (c_double * int(entry[2]))(*[float(j == k) for j in range(int(entry[2]))])
        room, own = (c_double * max(1, size))(), (c_uint32 * 1)(int(entry[1]))
        count = (c_size_t(len(unknown)), c_size_t(1))
        if self.version == 2:
            self.call("GetDirectionalDerivative", references, count[0], own, count[1], seed, room)
        else:
            self.call(
                "GetDirectionalDerivative", references, count[0], own, count[1], seed, c_size_t(int(entry[2])), room,
                c_size_t(size),
            )  # fmt: skip
        return list(room[:size])

    def _difference(
        self, what: str, t: float, x: list[float], inputs: list[float], k: int, nominal: list[float]
    ) -> list[float]:
        """A central difference by the k-th of (x, inputs), by time for -1."""
        both = [*x, *inputs]
        size = 1e-5 * max(abs(t), 1.0) if k < 0 else 6e-6 * max(abs(both[k]), nominal[k])
        sides = []
        for way in (1.0, -1.0):
            moved = list(both)
            if k >= 0:
                moved[k] += way * size
            time = t + way * size if k < 0 else t
            sides.append(self.evaluate(what, time, moved[: len(x)], moved[len(x) :]))
        return [(a - b) / (2 * size) for a, b in zip(*sides)]

    # -- steps of co-simulation -------------------------------------------------------------------------------

    def step(self, t: float, h: float, inputs: list[float]) -> list[float]:
        """One communication step with inputs held: where it ended, and whether the FMU asks for the end."""
        self._set_inputs_first(inputs)
        end, now = t + h, t
        while end - now > 1e-9 * h:
            reached, stop = self._do_step(now, end - now)
            if stop:
                return [reached, 1.0]
            if reached <= now:
                raise FmiError(f"fmi{self.version}DoStep", ERROR, f"it stays at t = {now:g}")
            now = reached
        return [end, 0.0]

    def _do_step(self, t: float, h: float) -> tuple[float, bool]:
        if self.version == 3:
            flags, last = [c_bool(), c_bool(), c_bool()], c_double(t)
            self.call("DoStep", c_double(t), c_double(h), c_bool(True), *[byref(flag) for flag in flags], byref(last))
            return (last.value if flags[2].value else t + h), flags[1].value
        try:
            self.call("DoStep", c_double(t), c_double(h), c_int(1))
        except Discarded:
            stop, last = c_int(0), c_double(t)
            self.f("GetBooleanStatus")(self.instance, c_int(3), byref(stop))
            self.f("GetRealStatus")(self.instance, c_int(2), byref(last))
            return last.value, bool(stop.value)
        return t + h, False

    # -- states -----------------------------------------------------------------------------------------------

    def save(self) -> list[float]:
        """Keep everything that the instance holds: a handle."""
        state = c_void_p(None)
        self.call("GetFMUstate" if self.version == 2 else "GetFMUState", byref(state))
        handle, self.next_handle = self.next_handle, self.next_handle + 1
        self.kept[handle] = state
        return [float(handle)]

    def restore(self, handle: int, next_time: float, domains: list[float]) -> list[float]:
        """Put back what was kept."""
        self.call("SetFMUstate" if self.version == 2 else "SetFMUState", self.kept[handle])
        self.next_time, self.domains = next_time, [value > 0.5 for value in domains]
        self.discrete_now = None
        self.at = None
        return []

    def drop(self, handle: int) -> list[float]:
        """Forget what was kept."""
        state = self.kept.pop(handle, None)
        if state is not None:
            self.f("FreeFMUstate" if self.version == 2 else "FreeFMUState")(self.instance, byref(state))
        return []

    def read(self, inputs: list[float]) -> list[float]:
        """The outputs of co-simulation, with these inputs."""
        self._set_inputs_first(inputs)
        return self.get(self.groups["outputs"])

    def one(self, what: str) -> list[float]:
        """The values of a group as they are."""
        return self.get(self.groups[what])

    def domains_now(self) -> list[float]:
        """On which side of zero each indicator was at the last event."""
        return [float(value) for value in self.domains]
