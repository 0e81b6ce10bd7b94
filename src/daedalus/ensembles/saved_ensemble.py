"""An ensemble in a file: labelled arrays as NetCDF for any tool, behind its end the same as plain data under a seal.

To add a kind of values: one line in `_described`, one in `_rebuilt`.
"""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.ensembles.further_names import FURTHER_NAMES
from daedalus.model.system.plain_record import PlainRecord
from daedalus.simulation.result.sealed_record import save_sealed

if TYPE_CHECKING:
    import xarray

KIND = "ensemble"
_NUMBERS, _FLAGS, _COUNTS, _TEXTS, _LABELS = "numbers", "flags", "counts", "texts", "labels"


def save_dataset(data: xarray.Dataset, path: Path) -> None:
    """Write the data of an ensemble; an existing file is replaced only when the new one is complete."""

    def described() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays: dict[str, np.ndarray] = {}
        told = {"kind": KIND, "title": data.attrs["title"], "notes": data.attrs.get("notes", "")}
        told |= {key: data.attrs[key] for key in (FURTHER_NAMES,) if key in data.attrs}
        return {**told, "variables": [_described(str(name), data[name], arrays) for name in data.variables]}, arrays

    save_sealed(path, "sweep", 'en.save("sweep.nc")', lambda: _with_plain_labels(data), described)


def dataset_of(record: PlainRecord, arrays: dict[str, np.ndarray]) -> xarray.Dataset:
    """The data of the ensemble that a record describes."""
    import xarray

    record.only(("kind", "title", "notes", "variables", FURTHER_NAMES))
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {}
    for part in record.parts("variables"):
        part.only(("name", "dims", "shape", "what", "texts", "labels", "units", "coordinate"))
        place = coordinates if part.flag("coordinate") else variables
        units = part.text("units")
        dims = part.texts("dims", distinct=True)
        for word, name in [("name", part.text("name")), *(("dims", dim) for dim in dims)]:
            if not name or "/" in name:
                raise part.misfit(word, "a name", name)
        place[part.text("name")] = (dims, _rebuilt(part, arrays), {"units": units} if units else {})
    told = {"title": record.text("title"), "notes": record.text("notes") if "notes" in record else ""}
    if FURTHER_NAMES in record:
        told[FURTHER_NAMES] = checked_names(record.text(FURTHER_NAMES), record)
    return xarray.Dataset(variables, coords=coordinates, attrs=told)


def checked_names(text: str, record: PlainRecord) -> str:
    """Further names as a file has them; refused where they are anything but names of names."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(own, str) for own in found.values()):
        raise record.misfit(FURTHER_NAMES, "names of variables", text[:40])
    return text


def _described(name: str, values: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """What a file says of one variable; its numbers go to `arrays`."""
    data, told = values.values, dict[str, Any]()
    what = {"f": _NUMBERS, "b": _FLAGS, "i": _COUNTS, "U": _TEXTS, "O": _LABELS}[data.dtype.kind]
    if what == _TEXTS:
        told["texts"], codes = (part.tolist() for part in np.unique(data, return_inverse=True))
        arrays[name] = np.ravel(np.array(codes, dtype=float))
    elif what == _LABELS:
        told["labels"] = data.tolist()
    else:
        arrays[name] = data.astype(float).ravel()
    is_coordinate = name in values.coords
    return {
        "name": name, "dims": list(values.dims), "shape": list(data.shape), "what": what,
        "units": values.attrs.get("units", ""), "coordinate": is_coordinate, **told,
    }  # fmt: skip


def _rebuilt(part: PlainRecord, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The values of one variable."""
    name, shape = part.text("name"), tuple(part.integers("shape", below=2**40).tolist())
    what = part.word("what", (_NUMBERS, _FLAGS, _COUNTS, _TEXTS, _LABELS))
    if what == _LABELS:
        labels = np.empty(shape, dtype=object)
        labels[:] = [s if isinstance(s, str) else float(s) for s in part.items("labels", prod(shape))]
        return labels
    numbers = arrays.get(name)
    if numbers is None or numbers.shape != (prod(shape),):
        raise part.misfit("shape", f"{prod(shape)} numbers", None if numbers is None else numbers.shape)
    if what == _TEXTS:
        texts = part.texts("texts")
        codes = _codes(part, numbers, len(texts))
        return np.array(texts, dtype=str)[codes].reshape(shape) if texts else np.zeros(shape, dtype=str)
    if what != _NUMBERS and not np.all(_whole(numbers)):
        raise part.misfit("what", what, numbers.tolist()[:8])
    kinds = {_NUMBERS: float, _FLAGS: bool, _COUNTS: int}
    return numbers.astype(kinds[what]).reshape(shape)


def _codes(part: PlainRecord, numbers: np.ndarray, count: int) -> np.ndarray:
    """Which text each entry is."""
    if not np.all(_whole(numbers) & (numbers >= 0) & (numbers < max(count, 1))):
        raise part.misfit("texts", f"numbers of {count} texts", numbers.tolist()[:8])
    return numbers.astype(int)


def _whole(numbers: np.ndarray) -> np.ndarray:
    """Which numbers are whole, and of a size that counts have."""
    are_counts: np.ndarray = np.isfinite(numbers) & (numbers == np.round(numbers)) & (np.abs(numbers) < 2**53)
    return are_counts


def _with_plain_labels(data: Any) -> Any:
    """The Dataset with labels of one kind, as NetCDF takes them."""
    if "summary" not in data.coords:
        return data
    return data.assign_coords(summary=[str(label) for label in data["summary"].values])
