"""A run in a file: what is kept of it, and how it is written.

The file has the samples as NetCDF, readable by any tool that knows it, and behind its end all that a run consists of as
plain data under a checksum. Each system is held once, however many pieces of the run share it; the arrays of piece k
have names that begin with `k/`. To add an entry: one line where `_described_piece` writes it, one where
`rebuilt_run.py` checks and reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.simulation.energy.ledger_functions import ledger_record
from daedalus.simulation.result.event_records import SettledMoment
from daedalus.simulation.result.labelled_samples import to_dataset
from daedalus.simulation.result.recorded_run import RecordedRun
from daedalus.simulation.result.records_as_data import as_data, fields_of
from daedalus.simulation.result.sealed_record import save_sealed

Arrays = dict[str, np.ndarray]


def save(tr: RecordedRun, pieces: Sequence[RecordedRun], path: Path) -> None:
    """Write a trajectory; an existing file is replaced only when the new one is complete."""
    save_sealed(path, "run", 'tr.save("run.nc")', lambda: to_dataset(tr), lambda: described_run(pieces))


def described_run(run: Sequence[RecordedRun]) -> tuple[dict[str, Any], Arrays]:
    """All that the pieces of a run consist of: plain data, and arrays by name."""
    systems = {id(piece.system): piece.system for piece in run}
    places = {key: k for k, key in enumerate(systems)}
    arrays: Arrays = {}
    pieces = []
    for k, piece in enumerate(run):
        own, told = _described_piece(piece)
        arrays.update({f"{k}/{name}": values for name, values in own.items()})
        pieces.append({**told, "system": places[id(piece.system)]})
    described = {
        "systems": [system.to_record() for system in systems.values()],
        "ledgers": [ledger_record(system) for system in systems.values()],
        "pieces": pieces,
    }
    return described, arrays


def _described_piece(tr: RecordedRun) -> tuple[Arrays, dict[str, Any]]:
    """What belongs to one piece, without its system: arrays and plain data."""
    dense, outcome = tr.dense, tr.outcome
    drive = tr._drive.sampled(np.concatenate([dense.starts, dense.ends, tr.time]))
    arrays: Arrays = {
        "times": tr.time,
        "x": tr._x,
        "starts": dense.starts,
        "ends": dense.ends,
        "coefficients": dense.coefficients,
        "parameters": tr._parameters,
        "step_counts": outcome.step_counts,
        "step_times": outcome.step_times,
        **_held(tr),
        **_modes(tr),
        **_delayed(tr),
        "constants": drive.constants,
    }
    for k, (table, _) in enumerate(drive.tables):
        arrays[f"table_{k}_times"], arrays[f"table_{k}_values"] = table.times, table.values
        if table.coefficients is not None:
            arrays[f"table_{k}_coefficients"] = table.coefficients
    for k, event in enumerate(outcome.events):
        arrays[f"event_{k}"] = np.stack([event.before, event.after])
    for k, change in enumerate(outcome.contacts):
        arrays[f"contact_{k}"] = np.stack([change.before, change.after])
    description = {
        "stop": fields_of(outcome.stop),
        "method": str(outcome.method),
        "records": [as_data(record) for record in outcome.records],
        "work": vars(outcome.work),
        "events": [[int(e.event), float(e.time), int(e.round), bool(e.led)] for e in outcome.events],
        "contacts": [[change.contact, change.kind.value, change.time] for change in outcome.contacts],
        "turns": [[turn.time, turn.condition, turn.value, turn.kind.value] for turn in outcome.turns],
        "surfaces": list(outcome.surfaces),
        "rests": outcome.rests,
        "done_at_start": sorted(outcome.done_at_start),
        **_settled(outcome.settled),
        "conditions": [] if tr.run_data.held_modes is None else list(tr.run_data.held_modes.conditions),
        "tables": [
            {"slots": list(slots), "kind": table.kind, "shape": list(table.shape)} for table, slots in drive.tables
        ],
    }
    return arrays, description


def _settled(moments: Sequence[SettledMoment] | None) -> dict[str, Any]:
    """What the run found at its frictions and stops, where it has them."""
    if moments is None:
        return {}
    return {
        "settled": [
            {
                "time": float(moment.time),
                "fired": [int(k) for k in moment.fired],
                "modes": moment.modes.astype(float).tolist(),
                "impacts": [[int(contact), float(restitution)] for contact, restitution in moment.impacts],
            }
            for moment in moments
        ]
    }


def _delayed(tr: RecordedRun) -> Arrays:
    """What delayed signals were."""
    known = tr._drive.delayed
    if known is None:
        return {}
    parts = {"starts": known.starts, "ends": known.ends, "samples": known.samples}
    return {**{f"signal_{name}": values for name, values in parts.items()}, "delays": np.array(known.delays)}


def _held(tr: RecordedRun) -> Arrays:
    """The discrete variables along a run."""
    held = tr._held_values
    return {} if held is None else {"held_rows": held.rows, "held_times": held.times, "held_values": held.values}


def _modes(tr: RecordedRun) -> Arrays:
    """The modes of the conditions along a run."""
    modes = tr.run_data.held_modes
    if modes is None:
        return {}
    held = {"mode_rows": modes.held.rows, "mode_times": modes.held.times, "mode_values": modes.held.values}
    return held if modes.located is None else {**held, "mode_located": modes.located.astype(float)}
