"""Archives that would do harm and descriptions that do not hold together are refused in words before anything runs."""

import stat
import struct
import zipfile

import pytest
from tests.exchange.fmus.small_fmus import SMALL, entry_of, written

import daedalus as dd

LIBRARY = {entry_of(): b"not a library"}
PLAIN = {"modelDescription.xml": SMALL, **LIBRARY}


def refused(path, *words):
    with pytest.raises(dd.DaedalusError) as caught:
        dd.exchange.load_fmu(path)
    text = str(caught.value)
    for word in words:
        assert word in text
    assert "Try:" in text
    return text


NAMES = [
    "../outside.so", "/etc/outside", "resources/../../outside", "C:/outside", "binaries\\..\\outside", "a\x01b", "..",
    "resources/..", "//server/share",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_entries_outside(tmp_path, name):
    refused(written(tmp_path / "a.fmu", {**PLAIN, name: b"x"}), "outside")
    assert not (tmp_path.parent / "outside.so").exists()


@pytest.mark.parametrize("target", ["/etc/passwd", "../../x", "modelDescription.xml"])
def test_links(tmp_path, target):
    path = written(tmp_path / "a.fmu", PLAIN)
    with zipfile.ZipFile(path, "a") as archive:
        entry = zipfile.ZipInfo("resources/link")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, target)
    refused(path, "link")


@pytest.mark.parametrize("where", ["resources/zeros", entry_of()])
def test_what_unpacks_to_far_more(tmp_path, where):
    refused(written(tmp_path / "a.fmu", {**PLAIN, where: bytes(30_000_000)}), "unpacks to far more")


def _patched(path, old, new):
    """An archive whose directory tells something else."""
    data = path.read_bytes()
    at = data.rindex(old)
    path.write_bytes(data[:at] + new + data[at + len(old) :])
    return path


def test_sizes_that_are_false(tmp_path):
    path = written(tmp_path / "a.fmu", {**PLAIN, "resources/table": b"1234567890" * 100})
    small, large = struct.pack("<I", 1000), struct.pack("<I", 0xFFFFFFF0)
    refused(_patched(path, small, large), "FMU")


def test_overlapping_entries(tmp_path):
    path = written(tmp_path / "a.fmu", {"resources/a": b"a" * 50, "resources/b": b"b" * 50, **PLAIN})
    with zipfile.ZipFile(path) as archive:
        second = archive.getinfo("resources/b").header_offset
    data = path.read_bytes()
    at = data.rindex(struct.pack("<I", second) + b"resources/b")
    path.write_bytes(data[:at] + struct.pack("<I", 0) + data[at + 4 :])
    refused(path, "FMU")


def test_encrypted_entries(tmp_path):
    path = written(tmp_path / "a.fmu", PLAIN)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 8] |= 1
    path.write_bytes(bytes(data))
    refused(path, "encrypted")


def test_entries_twice(tmp_path):
    path = written(tmp_path / "a.fmu", PLAIN)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("modelDescription.xml", SMALL)
    refused(path, "twice")


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive at all", b"PK\x03\x04" + bytes(100)])
def test_what_is_no_archive(tmp_path, content):
    path = tmp_path / "a.fmu"
    path.write_bytes(content)
    refused(path, "a.fmu")


def test_cut_archives(tmp_path):
    path = written(tmp_path / "a.fmu", PLAIN)
    data = path.read_bytes()
    for share in (0.2, 0.5, 0.9):
        path.write_bytes(data[: int(share * len(data))])
        refused(path, "a.fmu")


def test_paths_that_are_none(tmp_path):
    refused(tmp_path / "missing.fmu", "no file")
    refused(tmp_path, "cannot be opened")
    refused(7, "path")
    refused(written(tmp_path / "empty.fmu", {"readme": "x"}), "no modelDescription.xml")


def test_platforms_are_named(tmp_path):
    text = refused(
        written(tmp_path / "a.fmu", {"modelDescription.xml": SMALL, "binaries/riscv-os/small.so": b"x"}), "no library"
    )
    assert "riscv-os" in text
    refused(written(tmp_path / "b.fmu", {"modelDescription.xml": SMALL, "sources/a.c": b"x"}), "C sources")


def test_a_library_that_is_none(tmp_path):
    refused(written(tmp_path / "a.fmu", PLAIN), "cannot be used")


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
CHANGES = {
    "bomb": (HEAD, HEAD + BOMB),
    "entity from outside": (HEAD, HEAD + OUTSIDE),
    "document type": (HEAD, HEAD + '<!DOCTYPE x SYSTEM "http://example.org/x.dtd">'),
    "not closed": ("</fmiModelDescription>", ""),
    "unknown entity": ('name="x"', 'name="&x;"'),
    "binary": ("<ModelVariables>", "<ModelVariables>\x00"),
    "other root": ("fmiModelDescription", "html"),
    "version 1": ('fmiVersion="2.0"', 'fmiVersion="1.0"'),
    "version 4": ('fmiVersion="2.0"', 'fmiVersion="4.0"'),
    "no version": ('fmiVersion="2.0"', ""),
    "no token": ('guid="{small}"', ""),
    "identifier with a path": ('modelIdentifier="small"', 'modelIdentifier="../../small"'),
    "identifier that is absolute": ('modelIdentifier="small"', 'modelIdentifier="/lib/small"'),
    "no identifier": ('modelIdentifier="small"', ""),
    "no kind": ("<ModelExchange", "<!-- "),
    "reference that is a word": ('valueReference="0"', 'valueReference="x"'),
    "reference below zero": ('valueReference="0"', 'valueReference="-1"'),
    "reference too large": ('valueReference="0"', 'valueReference="99999999999999999999"'),
    "no reference": ('valueReference="0"', ""),
    "no name": ('name="x" ', ""),
    "name twice": ('name="u"', 'name="x"'),
    "unknown type": ("<Integer/>", "<Quaternion/>"),
    "start that is a word": ('start="1"', 'start="one"'),
    "two start values": ('start="1"', 'start="1 2"'),
    "derivative of nothing": ('derivative="1"', 'derivative="77"'),
    "rate that is none": ('<Unknown index="2"', '<Unknown index="3"'),
    "structure of nothing": ('<Unknown index="4"', '<Unknown index="400"'),
    "dependency on nothing": ('dependencies="1 3"', 'dependencies="1 33"'),
    "no structure": ("ModelStructure", "Structure"),
    "negative indicators": ('numberOfEventIndicators="1"', 'numberOfEventIndicators="-1"'),
    "indicators without end": ('numberOfEventIndicators="1"', 'numberOfEventIndicators="99999999999"'),
    "step that is a word": ('stepSize="0.05"', 'stepSize="often"'),
    "nominal that is a word": ('<Real start="0"/>', '<Real start="0" nominal="big"/>'),
}


@pytest.mark.parametrize("change", CHANGES)
def test_descriptions(tmp_path, change):
    old, new = CHANGES[change]
    assert old in SMALL
    text = SMALL.replace(old, new)
    if change == "no kind":
        text = SMALL.replace('<ModelExchange modelIdentifier="small"/>', "").replace("<CoSimulation", "<Other")
    refused(written(tmp_path / "a.fmu", {**PLAIN, "modelDescription.xml": text}), "FMU")


def test_deep_descriptions(tmp_path):
    text = SMALL.replace("<ModelVariables>", "<a>" * 5000 + "</a>" * 5000 + "<ModelVariables>")
    refused(written(tmp_path / "a.fmu", {**PLAIN, "modelDescription.xml": text}), "levels")


def test_arrays_without_end(tmp_path):
    text = """<fmiModelDescription fmiVersion="3.0" modelName="a" instantiationToken="a">
    <ModelExchange modelIdentifier="small"/><ModelVariables><Float64 name="x" valueReference="1" causality="output">
    <Dimension start="900000"/><Dimension start="900000"/></Float64>
    </ModelVariables><ModelStructure/></fmiModelDescription>"""
    refused(written(tmp_path / "a.fmu", {entry_of(3): b"x", "modelDescription.xml": text}), "numbers")
    again = text.replace('start="900000"', 'valueReference="9"')
    refused(written(tmp_path / "b.fmu", {entry_of(3): b"x", "modelDescription.xml": again}), "no length")


def test_wrong_arguments(tmp_path):
    path = written(tmp_path / "a.fmu", PLAIN)
    for wrong, word in (({"kind": "both"}, "kind"), ({"time_limit": 0}, "time_limit"), ({"variables": ["zz"]}, "zz")):
        with pytest.raises(dd.InputError, match=word):
            dd.exchange.load_fmu(path, **wrong)


def test_clocks_alone_are_named(tmp_path):
    text = """<fmiModelDescription fmiVersion="3.0" modelName="Clocks" instantiationToken="a">
    <ScheduledExecution modelIdentifier="Clocks"/><ModelVariables/><ModelStructure/></fmiModelDescription>"""
    refused(written(tmp_path / "a.fmu", {"modelDescription.xml": text}), "scheduled execution")
