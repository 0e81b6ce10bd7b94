"""A run rebuilt from plain data and arrays, every entry checked: what `saved_run.py` wrote, or what claims to be it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from daedalus._core import shared_numbers
from daedalus.errors import InputError
from daedalus.model.signals import KINDS, Signal
from daedalus.model.switching.schedule import SAME_TIME
from daedalus.model.system.plain_record import PlainRecord, checked_integer, checked_list, misfit
from daedalus.model.system.system import System
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.energy.ledger_functions import with_ledger
from daedalus.simulation.inputs.delayed_inputs import DelayedInputs
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plants import plant_for_rows
from daedalus.simulation.result.ending import ENDINGS, Obstacle, Stop
from daedalus.simulation.result.event_records import (
    ContactChange,
    FiredEvent,
    SettledMoment,
    TransitionKind,
    TurnedCondition,
)
from daedalus.simulation.result.held_values import HeldModes, HeldValues
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.outcome import COUNTED, Outcome, Work
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_as_data import from_data
from daedalus.simulation.result.trajectory import Trajectory

# Of an instant, behind those of its clocks.
MOST_ROUNDS = int(shared_numbers["most_rounds"])
# Behind the place and the time of an event, where files from before do not hold them: its round, and who led its guard.
OF_EVENTS_BEFORE = (0, False)
# Of conditions; files from before have none of them.
OF_TRANSITIONS = ("turns", "surfaces", "rests", "done_at_start")


def run_of(description: PlainRecord, arrays: dict[str, np.ndarray]) -> Trajectory:
    """The run that a record describes."""
    description.only(("systems", "pieces", "ledgers"))
    systems = [System.from_record(record) for record in description.items("systems")]
    # Files of earlier versions keep no ledgers.
    if systems and "ledgers" in description.names():
        kept = description.items("ledgers", len(systems))
        systems = [
            system if ledger is None else with_ledger(system, PlainRecord(ledger, f"{description.place}.ledgers[{k}]"))
            for k, (system, ledger) in enumerate(zip(systems, kept))
        ]
    return rebuilt_run(description, arrays, systems)


def rebuilt_run(description: PlainRecord, arrays: Mapping[str, np.ndarray], systems: list[System]) -> Trajectory:
    """The trajectory of a description whose systems were read before; InputError where it does not hold together."""
    pieces = []
    for k, told in enumerate(description.parts("pieces")):
        own = {name.removeprefix(f"{k}/"): values for name, values in arrays.items() if name.startswith(f"{k}/")}
        system = systems[told.integer("system", 0, len(systems))]
        pieces.append(_rebuilt_piece(told, SavedArrays(own, told.place), system))
    if not pieces:
        raise description.misfit("pieces", "a piece of a run", [])
    try:
        return joined(pieces)
    except ValueError as error:
        raise description.misfit("pieces", "pieces that follow each other", str(error)) from error


class SavedArrays:
    """Arrays of a file by name, asked for with their shape; None stands for any length."""

    def __init__(self, arrays: Mapping[str, np.ndarray], place: str) -> None:
        self._arrays, self._place = arrays, place

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def get(self, name: str, *shape: int | None) -> np.ndarray:
        """An array of numbers."""
        values = self._arrays.get(name)
        if values is None:
            raise misfit(f"{self._place}.{name}", "an array", None)
        if len(shape) != values.ndim or any(n is not None and n != m for n, m in zip(shape, values.shape)):
            wanted = " × ".join("any" if n is None else str(n) for n in shape)
            raise misfit(f"{self._place}.{name}", f"an array of {wanted}", values.shape)
        return values


def _rebuilt_piece(told: PlainRecord, arrays: SavedArrays, system: System) -> Trajectory:
    known = ("stop", "method", "records", "work", "events", "contacts", "tables", "system", "conditions", "settled")
    told.only((*known, *OF_TRANSITIONS))
    x = arrays.get("x", None, None)
    width = x.shape[1]
    sizes = system.sizes
    # Rows of an explicit method are x, those of an implicit one x, z and x'.
    if width not in (sizes["x"], 2 * sizes["x"] + sizes["z"]):
        raise told.misfit("x", f"rows of {sizes['x']} or {2 * sizes['x'] + sizes['z']}", width)
    starts = arrays.get("starts", None)
    count = len(starts)
    coefficients = arrays.get("coefficients", count, None, width)
    if count and coefficients.shape[1] < 1:
        raise told.misfit("coefficients", "at least one power", coefficients.shape)
    times = arrays.get("times", len(x))
    dense = Dense(starts, arrays.get("ends", count), coefficients)
    _check_times(told, dense, times)
    drive = Drive(arrays.get("constants", sizes["u"]), _rebuilt_tables(told, arrays, sizes["u"]))
    if system.delayed:
        drive = drive._replace(delayed=_rebuilt_delays(told, arrays, system))
    outcome = Outcome(
        _rebuilt_stop(told.part("stop")),
        told.text("method"),
        _rebuilt_work(told.part("work")),
        tuple(_rebuilt_record(part) for part in told.parts("records")),
        _rebuilt_events(told, arrays, len(system.events), width + system.discrete_count),
        _rebuilt_contacts(told, arrays, width + system.discrete_count),
        **_rebuilt_conditions(told),
        settled=_rebuilt_moments(told) if "settled" in told else None,
        step_counts=arrays.get("step_counts", None, COUNTED) if "step_counts" in arrays else np.zeros((0, COUNTED)),
        step_times=arrays.get("step_times", None) if "step_times" in arrays else np.zeros(0),
    )
    parameters = arrays.get("parameters", sizes["p"])
    held = _rebuilt_held(told, arrays, system.discrete_count) if system.discrete_count else None
    modes = _rebuilt_modes(told, arrays)
    plant = plant_for_rows(system, x)
    return Trajectory(plant, drive, parameters, times, x, outcome.stop.ending, outcome, dense, held, modes)


def _check_times(told: PlainRecord, dense: Dense, times: np.ndarray) -> None:
    """Refuse times that do not run one way, and rows that the steps do not reach."""
    if not len(times) or not all(np.all(np.isfinite(part)) for part in (times, dense.starts, dense.ends)):
        raise told.misfit("times", "finite times", times.tolist()[:4])
    if not len(dense.starts):
        if np.ptp(times) > 0:
            raise told.misfit("starts", "steps between the rows", 0)
        return
    along = np.concatenate([np.stack([dense.starts, dense.ends], axis=1).ravel(), times])
    direction, slack = np.sign(dense.ends[-1] - dense.starts[0]) or 1.0, SAME_TIME * np.abs(along).max()
    steps, rows = direction * along[: 2 * len(dense.starts)], direction * times
    if np.any(np.diff(steps) < -slack) or np.any(np.diff(rows) < -slack):
        raise told.misfit("times", "times that follow each other", times.tolist()[:4])
    if rows[0] < steps[0] - slack or rows[-1] > steps[-1] + slack:
        raise told.misfit("times", "rows within the steps", times[[0, -1]].tolist())


def _rebuilt_delays(told: PlainRecord, arrays: SavedArrays, system: System) -> DelayedInputs:
    """What delayed signals were along the run, and before it."""
    slots = tuple(int(k) for v in system.delayed for k in system.place(v.name).positions)
    starts, delays = arrays.get("signal_starts", None), arrays.get("delays", len(slots))
    if not len(starts) or not np.all(np.diff(starts) > 0):
        raise told.misfit("signal_starts", "increasing times", starts.tolist()[:4])
    samples = arrays.get("signal_samples", len(starts), None, len(slots))
    if samples.shape[1] < 1:
        raise told.misfit("signal_samples", "at least one sample", samples.shape)
    ends = arrays.get("signal_ends", len(starts))
    if not np.all(ends > starts):
        raise told.misfit("signal_ends", "times behind the starts", ends.tolist()[:4])
    return DelayedInputs(slots, tuple(delays.tolist()), starts, ends, samples)


def _rebuilt_held(told: PlainRecord, arrays: SavedArrays, count: int) -> HeldValues:
    """The discrete variables along the run."""
    return _rebuilt_changes(told, arrays, "held", count)


def _rebuilt_modes(told: PlainRecord, arrays: SavedArrays) -> HeldModes | None:
    """The modes of the conditions along the run; files of earlier versions keep none."""
    conditions = tuple(told.texts("conditions")) if "conditions" in told else ()
    if not conditions:
        return None
    held = _rebuilt_changes(told, arrays, "mode", len(conditions))
    located = "mode_located" in arrays
    return HeldModes(conditions, held, arrays.get("mode_located", *held.values.shape) > 0 if located else None)


def _rebuilt_changes(told: PlainRecord, arrays: SavedArrays, what: str, count: int) -> HeldValues:
    """Values that hold from some times on."""
    times = arrays.get(f"{what}_times", None)
    if not len(times):
        raise told.misfit(f"{what}_times", "at least one time", 0)
    return HeldValues(arrays.get(f"{what}_rows", len(times)), times, arrays.get(f"{what}_values", len(times), count))


def _rebuilt_stop(stop: PlainRecord) -> Stop:
    words = {field.name: field for field in fields(Stop)}
    obstacle = None if stop.only(words).entry("obstacle") is None else Obstacle(stop.word("obstacle", list(Obstacle)))
    return Stop(
        ENDINGS[stop.word("ending", ENDINGS)], stop.number("time"), stop.text("what"), tuple(stop.texts("facts")),
        stop.text("remedy"), tuple(stop.texts("variables")), tuple(stop.texts("equations")), stop.text("event"),
        stop.text("condition"), obstacle,
    )  # fmt: skip


def _rebuilt_record(part: PlainRecord) -> Record:
    """A record whose fields print the sentence that was saved; else the sentence alone."""
    part.only(("kind", "fields", "text"))
    part.part("fields")
    return from_data({name: part.entry(name) for name in ("kind", "fields")} | {"text": part.text("text")})


def _rebuilt_work(work: PlainRecord) -> Work:
    names = work.only(Work.__dataclass_fields__).names()
    counts = [name for name in names if name not in ("seconds", "linear")]
    linear = work.text("linear") if "linear" in names else ""
    return Work(
        seconds=work.number("seconds"), linear=linear, **{name: work.integer(name, 0, 2**63) for name in counts}
    )


def _rebuilt_tables(told: PlainRecord, arrays: SavedArrays, inputs: int) -> tuple[tuple[Signal, tuple[int, ...]], ...]:
    """The tables of the inputs, each with its places among them."""
    tables = []
    for k, table in enumerate(told.parts("tables")):
        places = tuple(table.only(("slots", "kind", "shape")).integers("slots", below=inputs).tolist())
        shape = tuple(table.integers("shape").tolist())
        times = arrays.get(f"table_{k}_times", None)
        values = arrays.get(f"table_{k}_values", len(times), len(places))
        if not len(times) or not np.all(np.isfinite(times)) or np.any(np.diff(times) <= 0):
            raise table.misfit("times", "increasing times", times.tolist())
        kind = table.word("kind", KINDS)
        coefficients = None
        if kind == "spline":
            coefficients = arrays.get(f"table_{k}_coefficients", len(times) - 1, None, len(places))
        tables.append((Signal(times, values, kind, shape, coefficients), places))
    return tuple(tables)


def _rebuilt_events(told: PlainRecord, arrays: SavedArrays, known: int, width: int) -> tuple[FiredEvent, ...]:
    events = []
    for k, entry in enumerate(told.items("events")):
        place = f"{told.place}.events[{k}]"
        if isinstance(entry, list) and entry:
            entry = [*entry, *OF_EVENTS_BEFORE[max(len(entry) - 2, 0) :]]
        index, _, number, _ = checked_list(entry, place, 4)
        own = PlainRecord(dict(zip(("event", "time", "round", "led"), entry)), place)
        before, after = arrays.get(f"event_{k}", 2, width)
        event = checked_integer(index, place, 0, known)
        count = checked_integer(number, place, 0, known + MOST_ROUNDS)
        events.append(FiredEvent(event, own.number("time"), before, after, count, own.flag("led")))
    return tuple(events)


def _rebuilt_moments(told: PlainRecord) -> tuple[SettledMoment, ...]:
    """What the run found at its frictions and stops."""
    moments = []
    for own in told.parts("settled"):
        fired = tuple(own.only(("time", "fired", "modes", "impacts")).integers("fired").tolist())
        modes, impacts = own.items("modes"), []
        for k, entry in enumerate(own.items("impacts")):
            place = f"{own.place}.impacts[{k}]"
            impact = PlainRecord(dict(zip(("contact", "restitution"), checked_list(entry, place, 2))), place)
            impacts.append((impact.integer("contact", 0, len(modes)), impact.number("restitution")))
        numbers = np.array(own.numbers("modes", (len(modes),)), dtype=float)
        moments.append(SettledMoment(own.number("time"), fired, numbers, tuple(impacts)))
    return tuple(moments)


def _rebuilt_contacts(told: PlainRecord, arrays: SavedArrays, width: int) -> tuple[ContactChange, ...]:
    """What contacts between bodies did along a piece."""
    changes = []
    for k, entry in enumerate(told.items("contacts") if "contacts" in told else ()):
        place = f"{told.place}.contacts[{k}]"
        own = PlainRecord(dict(zip(("contact", "kind", "time"), checked_list(entry, place, 3))), place)
        before, after = arrays.get(f"contact_{k}", 2, width)
        kind = TransitionKind(own.word("kind", TransitionKind))
        changes.append(ContactChange(own.text("contact"), kind, own.number("time"), before, after))
    return tuple(changes)


def _rebuilt_conditions(told: PlainRecord) -> dict[str, Any]:
    """What conditions did along a piece."""
    if not any(name in told for name in OF_TRANSITIONS):
        return {}
    turns = []
    for k, entry in enumerate(told.items("turns")):
        place = f"{told.place}.turns[{k}]"
        own = PlainRecord(dict(zip(TurnedCondition._fields, checked_list(entry, place, 4))), place)
        kind = TransitionKind(own.word("kind", TransitionKind))
        turns.append(TurnedCondition(own.number("time"), own.text("condition"), own.number("value"), kind))
    return {
        "turns": tuple(turns),
        "surfaces": tuple(told.texts("surfaces")),
        "rests": told.flag("rests"),
        "done_at_start": frozenset(told.texts("done_at_start")),
    }


def cannot_be_rebuilt(error: Exception) -> InputError:
    """The error for a run whose parts fit each other but whose model cannot be run."""
    told = str(error).splitlines()
    return InputError(
        "The saved run cannot be rebuilt.",
        f"{type(error).__name__}: {told[0][:200] if told else 'no reason given'}",
        because="its model is not one that could have been run.",
        remedy="another copy of the file, or save the run again",
    )
