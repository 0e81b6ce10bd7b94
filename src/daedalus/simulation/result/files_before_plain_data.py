"""Files of versions before plain data: their models are CasADi's serialised functions, which may run code.

They hold the group `daedalus` of HDF5: arrays of a run, those of piece k under the prefix `piece_k_`, and a JSON text
with the systems. Nothing here is called unless the user trusts the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.expressions import elements
from daedalus.model.names import element_label
from daedalus.model.system.equation_row import EquationRow, Source, rows_of
from daedalus.model.system.plain_record import PlainRecord, misfit, parsed
from daedalus.model.system.system import System
from daedalus.model.system.system_record import LETTERS
from daedalus.model.system.system_record import VERSION as SYSTEM_VERSION
from daedalus.simulation.result.rebuilt_run import rebuilt_run
from daedalus.simulation.result.sealed_record import holds_any, not_a_run, opened
from daedalus.simulation.result.trajectory import Trajectory

_GROUP = "daedalus"
# How the JSON texts of a run and of a run in pieces begin; they lie in the file letter by letter.
_OPENINGS = (b'{"format": 1, "system": {', b'{"format": 2, "systems": [')


def is_of_before(path: Path) -> bool:
    """Whether a file was saved by a version before plain data; told from its bytes, without opening it as HDF5."""
    with opened(path) as file:
        return holds_any(file, os.fstat(file.fileno()).st_size, _OPENINGS)


def not_trusted(path: Path) -> InputError:
    """The refusal of such a file."""
    return InputError(
        "The file was saved by an earlier version, and loading it could run code.",
        f"{path.name}: its model is held as CasADi's serialised functions",
        because="such a function may carry a library, which runs as soon as it is read.",
        remedy=f'dd.load("{path.name}", trusted=True) if you know where it comes from, then save it again',
    )


def load_trusted(path: Path) -> Trajectory:
    """The run in such a file; its functions are read by CasADi."""
    arrays = _read_arrays(path)
    if "description" not in arrays:
        raise not_a_run(path, "it has no description")
    old = parsed(arrays.pop("description").tobytes())
    description, renamed = _in_pieces(old, arrays)
    systems = [_system(record) for record in PlainRecord(description, "run").items("systems")]
    return rebuilt_run(PlainRecord(description, "run"), renamed, systems)


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of the group and the times of the root: plain numbers that the file has room for, nothing else."""
    import h5py

    room = path.stat().st_size
    arrays = {}
    try:
        with h5py.File(path, "r") as file:
            group = file[_GROUP]
            places = {name: (group, name) for name in group} | {"root times": (file, "time")}
            for name, (parent, key) in places.items():
                own = isinstance(parent.get(key, getlink=True), h5py.HardLink)
                if not own or not _is_plain(parent[key], room):
                    raise not_a_run(path, f"{name} is no array of numbers that the file has room for")
                arrays[name] = np.asarray(parent[key][...])
    except (OSError, KeyError, ValueError, RuntimeError, TypeError) as error:
        raise not_a_run(path, str(error).splitlines()[0] if str(error) else type(error).__name__) from error
    return {name: values if name == "description" else values.astype(float) for name, values in arrays.items()}


def _is_plain(dataset: Any, room: int) -> bool:
    """Whether a node of the file is an array of numbers that lies in the file itself."""
    import h5py

    if not isinstance(dataset, h5py.Dataset) or dataset.shape is None or dataset.dtype.kind not in "fu":
        return False
    return dataset.nbytes <= room and not dataset.is_virtual and dataset.external is None


def _in_pieces(old: Any, arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Description and arrays as they are written today."""
    record = PlainRecord(old, "run")
    if record.integer("format", 1, 3) == 1:
        systems, pieces = [record.entry("system")], [_piece(record, 0, _end(arrays, "ends"))]
        renamed = {f"0/{name}": values for name, values in arrays.items()}
        renamed["0/times"] = arrays["root times"]
    else:
        systems = record.items("systems")
        told = record.parts("pieces")
        pieces = [
            _piece(piece, piece.integer("system", 0, len(systems)), _end(arrays, f"piece_{k}_ends"))
            for k, piece in enumerate(told)
        ]
        renamed = {}
        for k in range(len(told)):
            prefix = f"piece_{k}_"
            own = {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
            renamed.update({f"{k}/{name}": values for name, values in own.items()})
    return {"systems": systems, "pieces": pieces}, renamed


def _piece(record: PlainRecord, system: int, end: float) -> dict[str, Any]:
    """What is told of one piece: how it ended stood in a part of its own, in words alone."""
    outcome = record.part("outcome")
    told = {name: outcome.entry(name) for name in ("method", "work", "events")}
    words = [{"kind": "Told", "fields": {"text": note}, "text": note} for note in outcome.texts("notes")]
    stop = {
        "ending": record.entry("status"), "time": end, "what": outcome.text("stop_reason"), "facts": [], "remedy": "",
        "variables": [], "equations": [], "event": "", "condition": "", "obstacle": None,
    }  # fmt: skip
    return {**told, "stop": stop, "records": words, "tables": record.entry("tables"), "system": system}


def _end(arrays: Mapping[str, np.ndarray], place: str) -> float:
    """Where a piece ended."""
    times = arrays.get(place)
    return float(times[-1]) if times is not None and times.ndim == 1 and len(times) else 0.0


def _system(record: Any) -> System:
    """A system whose expressions CasADi reads back."""
    old = dict(record) if isinstance(record, Mapping) else {}
    try:
        function = ca.Function.deserialize(old.pop("expressions"))
        symbols = function.sx_in()
    except (KeyError, RuntimeError, TypeError, NotImplementedError) as error:
        raise misfit("system.expressions", "functions that this CasADi reads", type(error).__name__) from error
    if len(symbols) != 1 + len(LETTERS):
        raise misfit("system.expressions", "functions of t, x', x, z, u, p", f"{len(symbols)} arguments")
    names = {letter: [s.name() for s in elements(symbol)] for letter, symbol in zip(("t", *LETTERS), symbols)}
    new = {"version": SYSTEM_VERSION, "symbols": names, "watched": [], **json.loads(json.dumps(old))}
    new.update(_rows(PlainRecord(new, "system"), function))
    return System.from_record(new, lambda inputs: [ca.densify(e) for e in function.call(inputs)])


def _rows(record: PlainRecord, function: ca.Function) -> dict[str, Any]:
    """Where rows come from: of old files only their names are known."""
    first = 3 + len(record.texts("outputs"))
    found: dict[str, Any] = {"equations": [_row(label) for label in record.texts("equations")]}
    for group, rows in (("invariants", "invariant_rows"), ("watched", "watched_rows")):
        names = record.texts(group)
        if first + len(names) > function.n_out():
            raise misfit("system.expressions", "one for each name", function.n_out())
        sizes = [function.numel_out(first + k) for k in range(len(names))]
        found[rows] = [
            row.to_record()
            for name, size in zip(names, sizes)
            for row in rows_of(name, [element_label(name, () if size == 1 else (size,), k) for k in range(size)])
        ]
        first += len(names)
    return found


def _row(label: str) -> list[Any]:
    return EquationRow(label, Source(label)).to_record()
