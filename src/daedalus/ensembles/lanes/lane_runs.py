"""Many cases of a sweep on lanes: which roads may take them, and one call for a block of cases."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled
from daedalus.compilation.choice import chosen_compiler
from daedalus.compilation.lanes.lane_formulas import kernel_formulas
from daedalus.compilation.lanes.machine import lane_width
from daedalus.ensembles.case_runs import CaseRuns
from daedalus.ensembles.cases import Cases
from daedalus.ensembles.derivatives.tangent_starts import TangentStarts
from daedalus.ensembles.lanes.case_numbers import CaseNumbers, LaterNumbers, case_numbers, whole_numbers
from daedalus.ensembles.lanes.consistent_starts import ConsistentStarts
from daedalus.ensembles.lanes.drawn_noise import drawn_noise
from daedalus.ensembles.lanes.events.lane_events import lane_events, why_no_lane_events
from daedalus.ensembles.lanes.explicit_kernel import explicit_kernel
from daedalus.ensembles.lanes.explicit_numbers import ExplicitNumbers, explicit_numbers
from daedalus.ensembles.lanes.implicit_lane_model import ImplicitLaneModel
from daedalus.ensembles.lanes.kernel_frame import ENDS, ENDS_WITH_EVENTS, EVENT, FINISHED, SETTINGS, STIFF
from daedalus.ensembles.lanes.kernels import Kernel, kernel_of
from daedalus.ensembles.lanes.lane_model import CarefulSlopes, LaneModel
from daedalus.ensembles.lanes.rosenbrock_kernel import rosenbrock_kernel
from daedalus.ensembles.lanes.stiff_lanes import (
    ON_LANES,
    method_on_lanes,
    stiff_model,
    why_not_implicit,
    written_model,
    written_vectors,
)
from daedalus.ensembles.lanes.tabled_intervals import stops_and_segments, tabled_inputs
from daedalus.ensembles.seeded_noise import SEED, SeededNoise
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.instruction_list import Instructions, UnknownOperationError
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import find_shorter_form
from daedalus.reduction.forms.no_form import NoForm
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plants import plant_of
from daedalus.simulation.plant.projection import corrected_with_length
from daedalus.simulation.run.road import Road
from daedalus.simulation.singular.rank_watch import rank_watch_of

# A case that tries more steps than this is left to the scalar core, which has ways to tell why.
MOST_STEPS = 1e6
# Numbers that a block of cases saves, at most about so many: they stay near the processor.
BLOCK_NUMBERS = 2**17
FEWEST, MOST = 64, 4096
# Lanes that are run in one call of a kernel at first; more while a call takes less than this, so that Ctrl-C is heard.
GROUP, GROUP_SECONDS = 64, 0.05


class NoLanes(NamedTuple):
    """Why cases are run one by one."""

    reason: str


class LaneBlock(NamedTuple):
    """The runs of a block of cases."""

    x: np.ndarray  # (times, states, cases)
    own: CaseNumbers | LaterNumbers
    finished: np.ndarray  # (cases,) bool: the others are left to the scalar core
    steps: np.ndarray
    rejected: np.ndarray
    stopped: StoppedCases | None = None  # those of them that an event ended


class StoppedCases(NamedTuple):
    """Cases of a block that an event ended: where in the block, when, and by which one."""

    cases: np.ndarray
    times: np.ndarray
    events: list[str]


@dataclass(frozen=True, eq=False)
class LaneRuns:
    """A road on lanes: its kernel, and everything that its cases share."""

    model: LaneModel
    numbers: ExplicitNumbers | None  # None of a Rosenbrock method
    method: str
    watch: bool
    lanes: int
    shared: np.ndarray  # start, inputs and parameters where a case brings none
    cases: Cases
    times: np.ndarray
    stops: np.ndarray
    segments: np.ndarray
    settings: np.ndarray
    starts: ConsistentStarts | None = None  # where the model constrains them
    stiff: StiffCases | None = None  # what runs the cases that stability holds back
    tangents: TangentStarts | None = None  # how derivatives begin, which lie behind the states

    @cached_property
    def settled(self) -> ConsistentStarts | None:
        """What settles the starts of the cases one by one; None where one look at the shared start was enough."""
        if self.starts is None:
            return None
        shared = self.shared if self.tangents is None else self.tangents.plain(self.shared)
        return None if self.starts.fit_alike(shared) else self.starts

    @property
    def begins_apart(self) -> bool:
        """Whether more than what is swept distinguishes the starts of the cases."""
        return self.settled is not None or (self.tangents is not None and not self.tangents.alike)

    @property
    def key(self) -> tuple[object, ...]:
        """What distinguishes its kernel."""
        return self.lanes, self.watch, self.saves_inside, self.numbers or self.method, self.model.key

    @cached_property
    def saves_inside(self) -> bool:
        """Whether a row may be asked for that lies between the ends of steps."""
        return not {*self.times.tolist()} <= {self.settings[SETTINGS.index("t0")], *self.stops.tolist()}

    def kernel(self) -> Kernel:
        """The kernel in machine code."""
        return kernel_of(self.key, lambda: self.text(self.lanes))

    def text(self, lanes: int, gpu: bool = False) -> str:
        """The LLVM text of the kernel."""
        if isinstance(self.model, ImplicitLaneModel):
            return rosenbrock_kernel(self.model, self.method, lanes, gpu, self.saves_inside)
        assert self.numbers is not None
        return explicit_kernel(self.model, self.numbers, lanes, self.watch, gpu, self.saves_inside)

    @property
    def where(self) -> str:
        """What runs the cases, in words."""
        return f"{self.lanes} lanes of this processor"

    @property
    def told_methods(self) -> str:
        """What ran the cases up to now, in words."""
        stiff = 0 if self.stiff is None else self.stiff.count
        return self.method if not stiff else f"{self.method}, stiff ones by {ON_LANES} ({stiff})"

    @property
    def block(self) -> int:
        """How many cases are run in one call."""
        width = max(1, len(self.times) * self.model.saved)
        return int(min(MOST, max(FEWEST, BLOCK_NUMBERS // width)))

    def run(self, block: range, cancel: Any = None) -> LaneBlock:
        """The runs of some cases, whose numbers follow each other; cancel ends them between two groups of lanes."""
        own, nowhere = self.numbers_of(block)
        return self.block_of(own, *self.run_numbers(own, cancel), nowhere, cancel)

    def run_numbers(self, own: CaseNumbers, cancel: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Saved rows and ends of cases by their numbers."""
        count = own.cases
        # Nothing is read where nothing was written: cases that end early are left to the core whole.
        x = np.empty((len(self.times), self.model.saved, count + 1))
        ends = np.empty((len(ENDS if self.model.events is None else ENDS_WITH_EVENTS), count + 1))
        arrays = [own.values, own.rows, x, ends, self.times, self.stops, self.segments, self.settings]
        kernel, begin, size = self.kernel(), 0, GROUP
        while begin < count:
            begun, end = time.perf_counter(), min(begin + size, count)
            kernel(arrays, count + 1, begin, end, len(self.times), len(self.stops))
            begin = end
            if cancel is not None and cancel.is_set:
                raise CancelledError
            if time.perf_counter() - begun < GROUP_SECONDS:
                size *= 4
        return x, ends

    def block_of(
        self,
        own: CaseNumbers | LaterNumbers,
        x: np.ndarray,
        ends: np.ndarray,
        nowhere: np.ndarray | None,
        cancel: Any = None,
    ) -> LaneBlock:
        """What a kernel left behind of a block of cases."""
        if self.stiff is not None:
            self.stiff.run(own, x, ends, cancel)
        status, steps, rejected = ends[:3, : own.cases]
        finished, stopped = status == FINISHED, None
        if self.model.events is not None and np.any(status == EVENT):
            cases = np.flatnonzero(status == EVENT)
            names = [self.model.events.names[int(k)] for k in ends[4, cases]]
            stopped = StoppedCases(cases, ends[3, cases], names)
            finished |= status == EVENT
        if nowhere is not None:
            finished &= ~nowhere
        return LaneBlock(x[:, :, : own.cases], own, finished, steps, rejected, stopped)

    def numbers_of(self, block: range) -> tuple[CaseNumbers, np.ndarray | None]:
        """Start, inputs and parameters of some cases, and which of them have no start."""
        own = case_numbers(self.shared, self.cases, block, (self.model.states, self.model.inputs))
        if not self.begins_apart:
            return own, None
        every, nowhere = np.ascontiguousarray(own.all()), None
        plain = every if self.tangents is None else self.tangents.plain(every)
        if self.settled is not None:
            nowhere = self.settled.settle(block, plain)
        return whole_numbers(plain if self.tangents is None else self.tangents.joined(plain)), nowhere


class StiffCases:
    """Cases that stability holds back in an explicit kernel: run again on lanes, by a Rosenbrock method."""

    def __init__(self, road: Road, strict: bool) -> None:
        self._road, self._strict = road, strict
        self.count = 0

    @cached_property
    def _model(self) -> ImplicitLaneModel | None:
        found = stiff_model(self._road)
        return None if isinstance(found, str) else replace(found, strict=self._strict)

    def run(self, own: CaseNumbers | LaterNumbers, x: np.ndarray, ends: np.ndarray, cancel: Any = None) -> None:
        """Write the runs of stiff cases over what an explicit kernel left of them."""
        cases = np.flatnonzero(ends[0, : own.cases] == STIFF)
        model = self._model if len(cases) else None
        if model is None:
            return
        n, road = x.shape[1], self._road
        every = own.all()[:, cases]
        numbers = whole_numbers(np.concatenate([every[:n], np.zeros((n, len(cases))), every[n:]]))
        rows, found = _on_lanes(road, model, None, ON_LANES, numbers.values[:0], Cases((), False, ())).run_numbers(
            numbers, cancel
        )
        x[:, :, cases], ends[:, cases] = rows[:, :, :-1], found[:, :-1]
        self.count += int(np.count_nonzero(found[0, :-1] == FINISHED))


def _on_lanes(
    road: Road, model: LaneModel, numbers: ExplicitNumbers | None, method: str, shared: np.ndarray, cases: Cases,
    starts: ConsistentStarts | None = None, stiff: StiffCases | None = None, noise: SeededNoise | None = None,
) -> LaneRuns:  # fmt: skip
    """A road with a model for its kernel."""
    request = road.request
    stops, segments = stops_and_segments(road.drive, request.t0, request.t1)
    assert request.save_at is not None
    watch = numbers is not None and bool(road.settings.call.get("watch_stiffness"))
    times = np.ascontiguousarray(request.save_at, dtype=float)
    assert not shared.size or len(shared) == model.own, "a kernel reads as many numbers as there are"
    settings = _settings_of(road)
    if noise is not None:
        columns, laws = noise.drawn(road.drive, stops, segments)
        edges = np.cumsum([0, *(len(law.numbers) for law in laws)])
        place = int(road.system.place(SEED).positions[0])
        model = replace(model, noises=drawn_noise(columns, place, laws, edges[:-1].tolist()))
        settings = np.concatenate([settings, *(law.numbers for law in laws)])
    return LaneRuns(
        model, numbers, method, watch, lane_width(), shared, cases, times, stops, segments, settings, starts, stiff
    )


def _implicit_runs(runs: CaseRuns) -> LaneRuns | NoLanes:
    """A road of an implicit method on lanes, or why there is none."""
    road = runs.road
    reason, method = why_not_implicit(road), method_on_lanes(road)
    if reason is not None:
        return NoLanes(reason)
    vectors, placed = written_vectors(road), runs.cases.placed_in(road.system)
    if vectors is None or placed is None:
        return NoLanes("each case takes a road of its own")
    assert method is not None
    model = written_model(road, vectors["x"])
    if isinstance(model, str):
        return NoLanes(model)
    shared = np.concatenate([np.nan_to_num(vectors["x"], nan=0.0), vectors["u"], vectors["p"]])
    return _on_lanes(road, replace(model, strict=runs.strict), None, method, shared, placed, noise=runs.noise)


def lane_runs(runs: CaseRuns) -> LaneRuns | NoLanes:
    """The cases of a sweep on lanes, or why they are run one by one."""
    road = runs.road
    reason = _why_not(road)
    if reason is not None:
        return NoLanes(reason)
    if road.settings.plant.is_implicit:
        return _implicit_runs(runs)
    vectors, starts = runs.vectors, None
    if vectors is None and road.system.discrete_count:
        vectors = runs.first_vectors(with_agenda=True)
    elif vectors is None:
        vectors, starts = runs.first_vectors(), ConsistentStarts(runs)
    if vectors is None:
        return NoLanes("each case takes a road of its own")
    model = _lane_model(road, runs.strict)
    if isinstance(model, NoLanes):
        return model
    if any(v.name in {axis.name for axis in runs.cases.axes} for v in road.system.of_kind("discrete")):
        return NoLanes("starts of discrete variables are swept")
    settings, request = road.settings, road.request
    adaptive = request.step is None
    method = settings.method if isinstance(road.method, str) else road.method
    numbers = explicit_numbers(method, adaptive)
    modes = np.zeros(0 if settings.switches is None else settings.switches.count)  # which kernels find themselves
    shared = np.concatenate([*(vectors[letter] for letter in ("x", "u", "p")), modes])
    replaced = settings.call.get("watch_stiffness") and starts is None and model.events is None and runs.noise is None
    stiff = StiffCases(road, runs.strict) if replaced else None
    return _on_lanes(road, model, numbers, settings.method, shared, runs.cases, starts, stiff, runs.noise)


def _settings_of(road: Road) -> np.ndarray:
    """The numbers that a kernel reads, in the order of SETTINGS, then absolute tolerances."""
    request, call = road.request, road.settings.call
    limit = call.get("max_steps")
    limits = np.inf if limit is None else float(limit)
    if request.step is None:
        limits = min(limits, MOST_STEPS)
    named = {
        "t0": request.t0,
        "direction": 1.0 if request.t1 >= request.t0 else -1.0,
        "rtol": call["rtol"],
        "step": call.get("step", 0.0),
        "first_step": call.get("first_step", 0.0),
        "max_step": call.get("max_step", np.inf),
        "limit": limits,
        "watch_stiffness": call.get("watch_stiffness", 0.0),
    }
    return np.array([*(float(named[name]) for name in SETTINGS), *np.asarray(call["atol"], dtype=float)])


def _why_not(road: Road) -> str | None:
    """What of a road no lane can do, None where there is nothing."""
    settings, system = road.settings, road.system
    if chosen_compiler() not in ("auto", "llvm") or not lane_width():
        return "there are no lanes without LLVM and fused multiply-add"
    if not settings.plant.is_implicit and not isinstance(settings.plant, ExplicitPlant):
        return "a linear system is solved at each evaluation"
    if system.events or system.discrete_count or settings.switches is not None or settings.stops is not None:
        reason = why_no_lane_events(road)
        if reason is not None:
            return reason
    if settings.time_limit is not None:
        return "a time limit is kept run by run"
    if system.delayed:
        return "its delays look back at what was"
    if road.request.t0 == road.request.t1:
        return "the span is empty"
    return None


def _lane_model(road: Road, strict: bool) -> LaneModel | NoLanes:
    settings = road.settings
    found = once(settings.core_plant.system, _formulas)
    if isinstance(found, NoLanes):
        return found
    slopes, kept, independence, shorter = found
    system = settings.core_plant.system
    sizes, events, careful = system.sizes, None, None
    if road.system.events or settings.switches is not None:
        events = lane_events(settings)
    assert slopes is not None
    if isinstance(events, str):
        return NoLanes(events)
    if shorter is not None and events is None and not strict:
        careful, slopes = CarefulSlopes(slopes, tuple(system.nominal["x"].tolist())), shorter
    return LaneModel(
        sizes["x"], sizes["u"], sizes["p"], slopes, kept, tabled_inputs(road.drive), independence, events=events,
        strict=strict, careful=careful,
    )  # fmt: skip


def _correction(plant: ExplicitPlant) -> ca.Function:
    """(t, x, u, p) -> x after one of the corrections of its projection, and its length in nominal values, squared."""
    system = plant.system
    arguments = system.symbols(("t", "x", "u", "p"))
    return ca.Function("corrected", arguments, list(corrected_with_length(system, plant.form)), {"cse": True})


def _shorter_slopes(plant: ExplicitPlant) -> ca.Function | None:
    """(t, x, u, p) -> x' with divisions by parameters, where that is shorter."""
    form = find_shorter_form(plant.system)
    if isinstance(form, NoForm):
        return None
    arguments = plant.system.symbols(("t", "x", "u", "p"))
    found = ca.Function("shorter", arguments, [ca.densify(form.xdot)], {"cse": True})
    return found if found.n_instructions() < plant.rhs.function.n_instructions() else None


def _formulas(system: System) -> tuple[Instructions | None, ...] | NoLanes:
    """The formulas of a system, read once: slopes, the way back onto what it keeps, branches, and shorter slopes."""
    plant = plant_of(system)
    assert isinstance(plant, ExplicitPlant)
    projection = plant.projection
    if projection is not None and not isinstance(projection, Compiled):
        return NoLanes("constraints are kept by a solve after each step")
    measure = rank_watch_of(plant)
    correction = None if projection is None else _correction(plant)
    watched = None if measure is None else measure.by_parameters
    functions = (plant.rhs.function, correction, watched, _shorter_slopes(plant))
    try:
        return tuple(None if function is None else kernel_formulas(function) for function in functions)
    except UnknownOperationError as unknown:
        return NoLanes(str(unknown))
