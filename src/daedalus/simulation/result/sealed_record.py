"""A record of plain data behind the end of a NetCDF file, with a seal over the whole file.

    NetCDF (HDF5)   what other tools read; they ignore what follows
    record          a mark, the length of a JSON text, the text, zeros up to a multiple of 8, then arrays of float64
    seal            100 letters: where the record begins, and the SHA-256 of every byte before that digest

The seal is checked before anything else is looked at, and the record is read here, byte for byte: no library with a
format of its own comes between, so a file that was damaged or made to do harm can do no more than be refused.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.system.plain_record import (
    PlainRecord,
    canonical_text,
    check_distinct,
    checked_list,
    checked_text,
    misfit,
    parsed,
)

# Of the format; digits of the seal's place, which hold any size of a file; bytes read at a time.
VERSION = 3
_MARK = b"\ndaedalus record "
_VERSION_MARK = _MARK + b"%04d\n" % VERSION
_SEAL = b"daedalus seal "
_DIGITS = 20
_DIGEST = hashlib.sha256().digest_size * 2
_SEAL_SIZE = len(_SEAL) + _DIGITS + 1 + _DIGEST + 1
_CHUNK = 2**20


def append_record(path: Path, description: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Put plain data and arrays behind the end of a file, and seal the whole."""
    contiguous = {name: np.ascontiguousarray(values, dtype="<f8") for name, values in arrays.items()}
    layout = [[name, list(values.shape)] for name, values in contiguous.items()]
    text = canonical_text({"description": description, "arrays": layout}).encode()
    head = _VERSION_MARK + struct.pack("<Q", len(text)) + text
    digest = hashlib.sha256()
    with path.open("r+b") as file:
        for chunk in _chunks(file, path.stat().st_size):
            digest.update(chunk)
        start = file.tell()
        seal = _SEAL + b"%0*d " % (_DIGITS, start)
        parts: list[Any] = [head, bytes(-len(head) % 8), *contiguous.values(), seal]
        for part in parts:
            digest.update(part)
            file.write(part)
        file.write(digest.hexdigest().encode() + b"\n")


def save_sealed(
    path: Path, what: str, remedy: str, dataset: Callable[[], Any], described: Callable[[], tuple[Any, Any]]
) -> None:
    """Write labelled arrays as NetCDF with a record behind; a file that exists is replaced only by a complete one."""
    if path.suffix not in (".nc", ".nc4", ".h5"):
        raise InputError(f"A {what} is saved as NetCDF.", f"got the file name {path.name!r}", remedy=remedy)
    if not path.parent.exists():
        raise InputError("The folder does not exist.", str(path.parent), remedy="make it first")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        description, arrays = described()
        dataset().to_netcdf(partial, engine="h5netcdf")
        append_record(partial, description, arrays)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def read_record(path: Path) -> tuple[PlainRecord, dict[str, np.ndarray]] | None:
    """The plain data and the arrays that `append_record` wrote; None for a file without a record or its remains.

    Raises InputError for a file that was changed, or whose record does not hold together.
    """
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(size - _SEAL_SIZE, 0))
        seal = file.read(_SEAL_SIZE)
        start_digits = seal[len(_SEAL) : len(_SEAL) + _DIGITS]
        if not seal.startswith(_SEAL) or not start_digits.isdigit():
            if _holds(file, size, _MARK):
                raise damaged(path)
            return None
        start, end = int(start_digits), size - _SEAL_SIZE
        if start > end:
            raise damaged(path)
        digest = hashlib.sha256()
        file.seek(0)
        for chunk in _chunks(file, start):
            digest.update(chunk)
        record = bytearray(end - start)
        complete = file.readinto(record) == len(record)
    digest.update(record)
    digest.update(seal[: len(_SEAL) + _DIGITS + 1])
    if not complete or seal[len(_SEAL) + _DIGITS :] != b" " + digest.hexdigest().encode() + b"\n":
        raise damaged(path)
    return _unpacked(record, path)


def _unpacked(record: bytearray, path: Path) -> tuple[PlainRecord, dict[str, np.ndarray]]:
    """The contents of a record whose bytes are those that were written."""
    begin = len(_VERSION_MARK) + 8
    if not record.startswith(_VERSION_MARK):
        if record.startswith(_MARK):
            found = bytes(record[len(_MARK) : len(_VERSION_MARK)]).decode(errors="replace").strip()
            raise InputError(
                "The file was written by another version.", f"{path.name}: format {found}, this version reads {VERSION}"
            )
        raise misfit(path.name, "a record", bytes(record[: len(_MARK)]))
    if len(record) < begin:
        raise misfit(path.name, "a record", f"{len(record)} bytes")
    (length,) = struct.unpack_from("<Q", record, len(_VERSION_MARK))
    if length > len(record) - begin:
        raise misfit(path.name, f"at most {len(record) - begin} bytes of text", length)
    whole = PlainRecord(parsed(bytes(record[begin : begin + length])), "file").only(("description", "arrays"))
    position = begin + length + -(begin + length) % 8
    arrays: dict[str, np.ndarray] = {}
    for k, entry in enumerate(whole.items("arrays")):
        place = f"file.arrays[{k}]"
        name, shape = _array_layout(entry, place)
        count = prod(shape)
        if count > (len(record) - position) // 8:
            raise misfit(place, f"at most {max(len(record) - position, 0) // 8} numbers", count)
        values = np.frombuffer(record, dtype="<f8", count=count, offset=position) if count else np.zeros(0)
        check_distinct([*arrays, name], place)
        arrays[name] = values.astype(float, copy=False).reshape(shape)
        position += 8 * count
    if position != len(record):
        raise misfit("file.arrays", f"{len(record)} bytes", position)
    return PlainRecord(whole.entry("description"), "run"), arrays


def _array_layout(entry: object, place: str) -> tuple[str, list[int]]:
    name, shape = checked_list(entry, place, 2)
    sizes = PlainRecord({"shape": shape}, place).integers("shape", below=2**40)
    if len(sizes) > 3:
        raise misfit(place, "at most three dimensions", len(sizes))
    return checked_text(name, place), sizes.tolist()


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """A plain file for reading; pipes, folders and what cannot be opened are refused at once."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError as error:
        raise InputError("There is no such file.", str(path), remedy="the path of a file that tr.save wrote") from error
    except OSError as error:
        raise not_a_run(path, error.strerror or type(error).__name__) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise not_a_run(path, "no plain file")
    with os.fdopen(handle, "rb") as file:
        yield file


def _holds(file: BufferedReader, size: int, pattern: bytes) -> bool:
    """Whether a short byte string occurs in a file."""
    file.seek(0)
    rest = b""
    for chunk in _chunks(file, size):
        window = rest + chunk
        if pattern in window:
            return True
        rest = window[-len(pattern) + 1 :]
    return False


def damaged(path: Path) -> InputError:
    """The error for a file whose bytes are not those that were written."""
    return InputError(
        "The file is damaged.",
        f"{path.name}: its checksum does not fit its contents",
        because="it was cut or changed after it was saved.",
        remedy="another copy of the file, or save the run again",
    )


def not_a_run(path: Path, why: str) -> InputError:
    """The error for a file that never was a saved run."""
    return InputError(
        "The file is not a saved run.",
        f"{path.name}: {why}",
        remedy="a file that tr.save wrote; other NetCDF files open with xarray",
    )


def _chunks(file: Any, count: int) -> Iterator[bytes]:
    """The next `count` bytes of a file in pieces."""
    while count > 0:
        chunk = file.read(min(count, _CHUNK))
        if not chunk:
            return
        count -= len(chunk)
        yield chunk
