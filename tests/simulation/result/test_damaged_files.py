"""Files that were flipped, cut or crafted: each is told in words, none crashes, none loads something else."""

import copy
import hashlib
import json
import os
import random
import struct
from pathlib import Path

import casadi as ca
import h5py
import numpy as np
import pytest

import daedalus as dd

SEAL = 100
DAMAGED = "The file is damaged.\n  {}: its checksum does not fit its contents\n"


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    """A run with a matrix, an input table, an event, an output and an algebraic variable."""
    m = dd.Model("mixed bag")
    x, a = m.state("x", 2, start=[1.0, 2.0]), m.state("A", (2, 2), start=[[1, 2], [3, 4]])
    z, u, k = m.algebraic("part.z"), m.input("u"), m.parameter("k", 0.5)
    m.equation(m.der(x), -k * x + u)
    m.equation(m.der(a), -a)
    m.equation(z, x[0] * 2)
    m.output("sum", x[0] + x[1])
    m.event("low", x[0] - 0.9, direction=-1, reset={"x[0]": 1.2})
    path = tmp_path_factory.mktemp("saved") / "run.nc"
    dd.simulate(m, 2.0, inputs={"u": dd.signal([0.0, 1.0], [0.0, 0.1])}, method="tsit5", rtol=1e-3).save(path)
    return path


@pytest.fixture
def no_library_reads(monkeypatch):
    """Neither CasADi nor HDF5 is given a byte."""

    def refuse(*arguments, **options):
        raise AssertionError("a library was asked to read the file")

    monkeypatch.setattr(ca.Function, "deserialize", refuse)
    monkeypatch.setattr(h5py, "File", refuse)


def resealed(netcdf: bytes, record: bytes) -> bytes:
    """A file with a valid checksum, whatever its record holds."""
    body = netcdf + record + b"daedalus seal %020d " % len(netcdf)
    return body + hashlib.sha256(body).hexdigest().encode() + b"\n"


def taken_apart(data: bytes) -> tuple[bytes, dict, bytes]:
    """The NetCDF part, the JSON of the record and its arrays."""
    start = int(data[-SEAL:][14:34])
    record = data[start:-SEAL]
    begin = record.index(b"\n", 1) + 9
    (length,) = struct.unpack_from("<Q", record, begin - 8)
    return data[:start], json.loads(record[begin : begin + length]), record[begin + length + -(begin + length) % 8 :]


def put_together(netcdf: bytes, text: bytes, arrays: bytes, version: int = 3) -> bytes:
    head = b"\ndaedalus record %04d\n" % version + struct.pack("<Q", len(text)) + text
    return resealed(netcdf, head + bytes(-len(head) % 8) + arrays)


def crafted(path: Path, change) -> bytes:
    """The file with something else in its JSON, sealed again."""
    netcdf, whole, arrays = taken_apart(path.read_bytes())
    change(whole)
    return put_together(netcdf, json.dumps(whole).encode(), arrays)


def test_crafting_is_faithful(saved, tmp_path):
    (tmp_path / "same.nc").write_bytes(crafted(saved, lambda whole: None))
    np.testing.assert_array_equal(dd.load(tmp_path / "same.nc")["x"], dd.load(saved)["x"])


def test_flipped_bits_are_told(saved, tmp_path, no_library_reads):
    data, file = saved.read_bytes(), tmp_path / "flipped.nc"
    draw = random.Random(1)
    places = [*(draw.randrange(len(data)) for _ in range(150)), *range(len(data) - SEAL, len(data))]
    for place in places:
        flipped = bytearray(data)
        flipped[place] ^= 1 << draw.randrange(8)
        file.write_bytes(flipped)
        with pytest.raises(dd.InputError) as caught:
            dd.load(file)
        assert str(caught.value).startswith(DAMAGED.format("flipped.nc")), place


def test_cut_files_are_told(saved, tmp_path, no_library_reads):
    data, file = saved.read_bytes(), tmp_path / "cut.nc"
    start, draw = int(data[-SEAL:][14:34]), random.Random(2)
    for length in [0, 1, 99, 100, start, start + 5, len(data) - 1, *(draw.randrange(len(data)) for _ in range(60))]:
        file.write_bytes(data[:length])
        with pytest.raises(dd.InputError) as caught:
            dd.load(file)
        # Without the beginning of its record nothing tells a saved run from other files.
        headline = "The file is damaged." if length > start + 20 else "The file is not a saved run."
        assert str(caught.value).splitlines()[0] in (headline, "The file is not a saved run."), length


def test_appended_and_joined_files_are_told(saved, tmp_path):
    data, file = saved.read_bytes(), tmp_path / "more.nc"
    for more in (data + b"\n", data + data, data + data[-SEAL:], data[: -2 * SEAL] + data[-SEAL:]):
        file.write_bytes(more)
        with pytest.raises(dd.InputError, match="The file is damaged"):
            dd.load(file)


def put(*path_and_value):
    *path, last, value = path_and_value

    def change(whole):
        for step in path:
            whole = whole[step]
        whole[last] = value

    return change


PIECE = ("description", "pieces", 0)
SYSTEM = ("description", "systems", 0)
CRAFTED = [
    (put("arrays", 0, 1, [2**39, 2**39]), "file.arrays[0]: at most"),
    (put("arrays", 0, 1, [2**62]), "file.arrays[0].shape[0]: a whole number of 0 to 1099511627775 expected"),
    (put("arrays", 0, 1, [1, 1, 1, 1]), "file.arrays[0]: at most three dimensions expected, found 4"),
    (put("arrays", 0, 1, [-1]), "file.arrays[0].shape[0]: a whole number"),
    (put("arrays", 0, 0, None), "file.arrays[0]: a text expected"),
    (put("arrays", 1, 0, "0/times"), "expected, found"),
    (lambda whole: whole["arrays"].pop(), "file.arrays:"),
    (lambda whole: whole["arrays"][0].__setitem__(0, "0/other"), "run.pieces[0].times: an array expected"),
    (lambda whole: whole["arrays"].append(whole["arrays"][0]), "file.arrays["),
    (put("code", "import os"), "file: entries that this version knows expected, found 'code'"),
    (put("description", []), "run: named entries expected"),
    (put("description", "systems", []), "pieces[0].system: a whole number of 0 to -1 expected, found 0"),
    (put("description", "pieces", []), "pieces: a piece of a run expected"),
    (put(*PIECE, "system", 1), "pieces[0].system: a whole number of 0 to 0 expected, found 1"),
    (put(*PIECE, "stop", "ending", 1), "pieces[0].stop.ending: "),
    (put(*PIECE, "stop", "ending", "exploded"), "pieces[0].stop.ending: "),
    (put(*PIECE, "stop", "time", "soon"), "pieces[0].stop.time: a number expected, found 'soon'"),
    (put(*PIECE, "stop", "obstacle", "a wall"), "pieces[0].stop.obstacle: "),
    (put(*PIECE, "records", "one"), "pieces[0].records: a list expected, found 'one'"),
    (put(*PIECE, "records", [{"kind": "MethodChosen", "fields": 3, "text": "so"}]), "pieces[0].records[0].fields: "),
    (put(*PIECE, "notes", ["so"]), "pieces[0]: entries that this version knows expected, found 'notes'"),
    (put(*PIECE, "work", "steps", -1), "pieces[0].work.steps: a whole number of 0 to"),
    (put(*PIECE, "work", "seconds", "1"), "pieces[0].work.seconds: a number expected, found '1'"),
    (put(*PIECE, "work", "code", 1), "pieces[0].work: entries that this version knows expected"),
    (put(*PIECE, "events", [[7, 0.0, 0]]), "pieces[0].events[0]: a whole number of 0 to 0 expected, found 7"),
    (put(*PIECE, "events", [[0, 0.0, -1]]), "pieces[0].events[0]: a whole number of 0 to 50 expected, found -1"),
    (put(*PIECE, "events", [[0, 0.0, 0]] * 9), "an array expected, found None"),
    (put(*PIECE, "tables", 0, "slots", [1]), "tables[0].slots[0]: a whole number of 0 to 0 expected, found 1"),
    (put(*PIECE, "tables", 0, "slots", []), "an array of 2 × 0 expected, found a list of 2"),
    (put(*PIECE, "tables", 0, "kind", "code"), "tables[0].kind: hold or linear or spline expected, found 'code'"),
    (put(*SYSTEM, "formulas", "words", ["call"]), "formulas.words: operations of arithmetic expected, found 'call'"),
    (put(*SYSTEM, "formulas", "first", 0, 10**6), "formulas.first[0]: a whole number of 0 to"),
    (put(*SYSTEM, "formulas", "version", 9), "formulas.version: 1 expected, found 9"),
    (put(*SYSTEM, "variables", 2, "name", "x"), "variables: distinct names expected, found 'x'"),
    (
        put(*SYSTEM, "expressions", "jhpnnagi"),
        "The system was saved by an earlier version, and reading it could run code.",
    ),
]


def test_events_of_files_from_before_have_no_rounds(saved, tmp_path):
    def without_rounds(whole):
        for piece in whole["description"]["pieces"]:
            piece["events"] = [entry[:2] for entry in piece["events"]]

    (tmp_path / "before.nc").write_bytes(crafted(saved, without_rounds))
    old, new = dd.load(tmp_path / "before.nc"), dd.load(saved)
    assert len(new.events) > 0
    assert [(event.name, event.time) for event in old.events] == [(event.name, event.time) for event in new.events]


@pytest.mark.parametrize(("change", "told"), CRAFTED)
def test_crafted_records_are_told(saved, tmp_path, change, told, no_library_reads):
    (tmp_path / "crafted.nc").write_bytes(crafted(saved, change))
    with pytest.raises(dd.InputError) as caught:
        dd.load(tmp_path / "crafted.nc")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"no JSON", "the text: JSON expected, found 'JSONDecodeError'"),
        (b"[" * 100_000, "the text: JSON expected, found 'RecursionError'"),
        (b"\xff\xfe", "the text: JSON expected, found"),
        (b"[]", "file: named entries expected, found a list of 0"),
        (b"1" * 5000, "the text: JSON expected, found 'ValueError'"),
        (b'{"description": 1}', "file.arrays: an entry expected, found None"),
    ],
)
def test_other_texts_are_told(saved, tmp_path, text, told):
    netcdf, _, arrays = taken_apart(saved.read_bytes())
    (tmp_path / "text.nc").write_bytes(put_together(netcdf, text, arrays))
    with pytest.raises(dd.InputError) as caught:
        dd.load(tmp_path / "text.nc")
    assert told in str(caught.value)


@pytest.mark.parametrize("record", [b"", b"x", b"\ndaedalus record 0003\n", b"\ndaedalus record 0003\n" + b"\xff" * 8])
def test_other_records_are_told(saved, tmp_path, record):
    netcdf, _, _ = taken_apart(saved.read_bytes())
    (tmp_path / "record.nc").write_bytes(resealed(netcdf, record))
    with pytest.raises(dd.InputError, match="The saved data is inconsistent"):
        dd.load(tmp_path / "record.nc")


def test_files_of_later_versions_are_told(saved, tmp_path):
    netcdf, whole, arrays = taken_apart(saved.read_bytes())
    (tmp_path / "later.nc").write_bytes(put_together(netcdf, json.dumps(whole).encode(), arrays, version=4))
    with pytest.raises(dd.InputError, match=r"The file was written by another version.\n  later.nc: format 0004, this"):
        dd.load(tmp_path / "later.nc")


ODD = [None, -1, 0, 1, 2**70, "x", "", [], {}, float("nan"), 1e308, True, [[]], "a\0b", "call", [0], 2**31, 1.5]


def changed_somewhere(whole: dict, draw: random.Random) -> None:
    """Another value, a missing one or one too many at a random place of a record."""
    places = []

    def walk(value):
        for key in value if isinstance(value, dict) else range(len(value)):
            places.append((value, key))
            if isinstance(value[key], (dict, list)):
                walk(value[key])

    walk(whole)
    parent, key = draw.choice(places)
    kind = draw.random()
    if kind < 0.2:
        del parent[key]
    elif kind < 0.4 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
    elif kind < 0.6 and isinstance(parent[key], int):
        parent[key] += draw.choice([-1, 1, 100])
    else:
        parent[key] = draw.choice(ODD)


def test_records_changed_at_random_load_or_are_told(saved, tmp_path, no_library_reads):
    draw, file = random.Random(3), tmp_path / "changed.nc"
    refused = 0
    for _ in range(150):
        file.write_bytes(crafted(saved, lambda whole: changed_somewhere(whole, draw)))
        try:
            tr = dd.load(file)
            for name in tr:
                tr[name]
            tr.at(1.0)
            tr.drift()
        except dd.DaedalusError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("kind", ["pipe", "folder", "pipe behind a link", "link to nothing"])
def test_what_is_no_plain_file_is_told_at_once(tmp_path, kind):
    path = tmp_path / "run.nc"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe behind a link":
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
    else:
        path.symlink_to(tmp_path / "nothing")
    told = "There is no such file" if kind == "link to nothing" else "run.nc: no plain file"
    with pytest.raises(dd.InputError, match=told):
        dd.load(path)
