"""dd.exchange.load_fmu: an FMU of another tool as a model, to run alone or as a part of others."""

from __future__ import annotations

import hashlib
import math
import os
import threading
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from daedalus.errors import InputError
from daedalus.exchange.fmu_import.archive import FmuArchive
from daedalus.exchange.fmu_import.continuous_fmu import ContinuousFmu
from daedalus.exchange.fmu_import.declarations import FmuPart, groups, model_names
from daedalus.exchange.fmu_import.fmu_link import FmuLink, LinkInside, LinkOutside
from daedalus.exchange.fmu_import.fmu_states import FmuStates
from daedalus.exchange.fmu_import.quantities_of_fmu import (
    CO_SIMULATION,
    MODEL_EXCHANGE,
    FmuDescription,
    FmuQuantity,
)
from daedalus.exchange.fmu_import.read_description import read_description
from daedalus.exchange.fmu_import.sampled_fmu import SampledFmu
from daedalus.model.interrupts import weak_values
from daedalus.model.names import did_you_mean, suggest_name

# In s, where neither the file nor the caller says one.
DEFAULT_STEP = 0.01

_lock = threading.Lock()
# Of parts that somebody holds, and of those used last.
_states_of: WeakValueDictionary[tuple[str, str, bool, float], FmuStates] = weak_values()
# What was loaded into this process stays: its code cannot be taken out safely.
_inside: list[FmuStates] = []


def load_fmu(
    path: str | os.PathLike[str],
    kind: str | None = None,
    trusted: bool = False,
    *,
    name: str | None = None,
    step: float | None = None,
    variables: list[str] | tuple[str, ...] = (),
    time_limit: float = 60.0,
) -> FmuPart:
    """An FMU (FMI 2.0 or 3.0) as a model: run it alone with `dd.simulate`, or add it to another with `m.add`.

    In model exchange the methods of this package integrate the FMU's states: its events are located, its directional
    derivatives used where it has them (differences otherwise). In co-simulation the FMU makes its own steps; it is a
    sampled part whose inputs and outputs are held in between.

    Inputs and outputs of the FMU are signals for `m.connect`, with units; an input that nothing drives keeps its start
    value. Parameters are parameters. Arrays of FMI 3 are vectors and matrices. Characters that names cannot have here
    become underscores (`part.names` lists them).

    Parameters
    ----------
    kind: "model_exchange" or "co_simulation"; by default model exchange where the FMU has it.
    trusted: False runs the FMU in a process of its own, so that a crash or a hang there is an error here. True runs it
        in this process, several times faster. The FMU's machine code has your rights either way: this contains
        accidents, not malice.
    name: of the model; by default the FMU's.
    step: the communication step of co-simulation, in s; by default that of the FMU's default experiment, or 0.01.
    variables: names of further variables (local ones) that become outputs.
    time_limit: seconds that one call may take before the process is ended.

    The archive is checked before anything is unpacked: paths outside, links, sizes and XML entities are refused with an
    InputError. What the part does not carry is listed in `part.notes`.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.exchange.load_fmu("missing.fmu")
    Traceback (most recent call last):
        ...
    daedalus.errors.InputError: There is no file 'missing.fmu'.
    ...
    """
    archive = FmuArchive(path)
    description = read_description(archive.description, archive.name)
    chosen = _chosen_kind(description, kind, archive.name)
    own = description.kinds[chosen]
    if own.needs_tool:
        raise InputError(
            f"The FMU {archive.name!r} needs the tool that wrote it.",
            "needsExecutionTool is set",
            because="only FMUs that run on their own are loaded.",
            remedy="an export that contains the solver and the model",
        )
    limit = _checked_positive(time_limit, "time_limit")
    library = archive.library(own.identifier, description.version)
    names = model_names(description)
    further = _further(description, variables, archive.name)
    states = _states(archive, description, chosen, library, bool(trusted), limit)
    part = FmuPart(name or suggest_name(description.name).replace(".", "_"))
    part.fmu_name, part.kind, part.version, part.notes = description.name, chosen, description.version, []
    part.names = {fmu: ours for fmu, ours in names.items() if fmu != ours}
    _note_what_is_left(part, description, chosen)
    if chosen == CO_SIMULATION:
        length = (
            _checked_positive(step, "step")
            if step is not None
            else (description.step or own.fixed_step or DEFAULT_STEP)
        )
        SampledFmu(part, description, states, names, further, length).write()
    else:
        ContinuousFmu(part, description, states, names, further).write()
    return part


def _chosen_kind(description: FmuDescription, kind: str | None, file: str) -> str:
    if kind is None:
        return MODEL_EXCHANGE if MODEL_EXCHANGE in description.kinds else CO_SIMULATION
    if kind not in (MODEL_EXCHANGE, CO_SIMULATION):
        raise InputError(f"kind={kind!r} is not a kind of FMU.", remedy='"model_exchange" or "co_simulation"')
    if kind not in description.kinds:
        raise InputError(
            f"The FMU {file!r} is not for {kind.replace('_', ' ')}.",
            f"it has {', '.join(description.kinds)}",
            because="an FMU is exported for certain kinds.",
            remedy=f"kind={next(iter(description.kinds))!r}",
        )
    return kind


def _checked_positive(value: Any, word: str) -> float:
    number = (
        float(value)
        if isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)
        else math.nan
    )
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{word}={value!r} is not a positive number.", remedy=f"{word}=0.01")
    return number


def _further(description: FmuDescription, variables: Any, file: str) -> list[FmuQuantity]:
    found = []
    for word in (variables,) if isinstance(variables, str) else variables:
        quantity = description.quantities.get(word)
        if quantity is None or not quantity.is_number:
            raise InputError(
                f"The FMU {file!r} has no number {word!r}.",
                f"it has {len(description.quantities)} variables",
                remedy=did_you_mean(str(word), description.quantities, listed=False),
            )
        found.append(quantity)
    return found


def _entries(quantities: list[FmuQuantity]) -> list[list[Any]]:
    return [[q.type, q.reference, q.size] for q in quantities]


def _states(
    archive: FmuArchive, description: FmuDescription, kind: str, library: str, trusted: bool, limit: float
) -> FmuStates:
    """The tokens of this file, shared by all that load it: one process, one unpacked folder."""
    digest = hashlib.sha256(Path(archive.path).read_bytes()).hexdigest()
    key = (digest, kind, trusted, limit)
    with _lock:
        states = _states_of.get(key)
        if states is None:
            folder = archive.unpacked(library)
            spec = _spec(description, kind, Path(folder.name), library)
            link: FmuLink = (LinkInside if trusted else LinkOutside)(archive.name, spec, limit)
            states = FmuStates(link, description.kinds[kind].saves, folder=folder)
            _states_of[key] = states
            _inside.extend([states] * trusted)
        return states


def _spec(description: FmuDescription, kind: str, folder: Path, library: str) -> dict[str, Any]:
    """What the process of the FMU has to know."""
    q, own = description.quantities, groups(description)
    resources = folder.resolve() / "resources"
    outputs = [q[name] for name in description.outputs if q[name].is_number and not q[name].is_clocked]
    everything = {name: [v] for name, v in q.items() if v.is_number and not v.is_clocked}
    return {
        "library": str(folder.resolve() / library), "resources": f"{resources}{os.sep}",
        "resources_uri": resources.as_uri(), "folder": str(folder.resolve()), "version": description.version,
        "kind": kind, "token": description.token, "name": description.name,
        "states": sum(q[rate].size for rate in description.rates), "indicators": description.indicators,
        "directional": description.kinds[kind].directional,
        "known_x": _entries([q[name] for name in description.states]),
        "unknown_rates": _entries([q[name] for name in description.rates]),
        "groups": {
            "given": _entries([*own["parameters"], *own["settable"]]),
            "inputs": _entries(own["inputs"]), "discrete_inputs": _entries(own["discrete_inputs"]),
            "outputs": _entries(outputs), **{f"one:{name}": _entries(one) for name, one in everything.items()},
        },
    }  # fmt: skip


def _note_what_is_left(part: FmuPart, description: FmuDescription, kind: str) -> None:
    """Name what the part does not carry."""
    lost: dict[str, list[str]] = {}
    for q in description.quantities.values():
        if q.causality in ("input", "output", "parameter") and not q.is_number:
            lost.setdefault(f"{q.type.lower()} variables keep the FMU's own values", []).append(q.name)
        elif q.is_clocked and q.causality in ("input", "output"):
            lost.setdefault("variables of clocks are left out", []).append(q.name)
        elif q.causality == "structuralParameter":
            lost.setdefault("structural parameters keep their start values", []).append(q.name)
    part.notes += [f"{what}: {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}" for what, names in lost.items()]
    if kind == MODEL_EXCHANGE and description.version == 3 and description.kinds[kind].needs_completed_steps:
        part.notes.append("the FMU asks for a call after every step, which is made at events only")
