"""Object code on disk: whole or absent, never an exception, never above its size."""

import os
from pathlib import Path

import pytest

from daedalus.compilation import disk_cache
from daedalus.compilation.disk_cache import cache_folder, load, make_room, store


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path / "kept" / "code"))
    return tmp_path / "kept" / "code"


def entries(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def test_what_is_stored_is_loaded(place):
    assert load("key") is None
    store("key", [b"one", b"", b"three" * 1000])
    assert load("key") == [b"one", b"", b"three" * 1000]
    assert entries(place) == ["key.code"]
    store("key", [b"new"])
    assert load("key") == [b"new"]


@pytest.mark.parametrize("word", ["", "off", "OFF", " off "])
def test_cache_can_be_switched_off(monkeypatch, word):
    monkeypatch.setenv("DAEDALUS_CACHE", word)
    assert cache_folder() is None
    store("key", [b"code"])
    assert load("key") is None


def test_default_is_the_users_cache_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("DAEDALUS_CACHE", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "daedalus"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "daedalus"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:40],
        lambda data: b"",
        lambda data: data[:-3] + b"xyz",
        lambda data: b"another" + data,
        lambda data: data[:30] + bytes([data[30] ^ 1]) + data[31:],
        lambda data: data + b"tail",
    ],
)
def test_a_damaged_entry_is_absent_and_removed(place, damage):
    store("key", [b"object code", b"more of it"])
    path = place / "key.code"
    path.write_bytes(damage(path.read_bytes()))
    assert load("key") is None
    assert entries(place) == []
    store("key", [b"good"])
    assert load("key") == [b"good"]


def test_code_that_others_can_change_is_not_used(place):
    store("key", [b"code"])
    os.chmod(place / "key.code", 0o666)
    assert load("key") is None
    os.chmod(place / "key.code", 0o600)
    assert load("key") == [b"code"]


def test_code_of_other_users_is_not_used(place, monkeypatch):
    store("key", [b"code"])
    os.chmod(place / "key.code", 0o600)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    status = os.stat_result((0o100600, 0, 0, 1, 1234, 1234, 4, 0, 0, 0))
    assert not disk_cache._trusted(status)


def test_a_file_where_the_folder_should_be_is_harmless(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("DAEDALUS_CACHE", str(path))
        store("key", [b"code"])
        assert load("key") is None
        make_room(0)


def test_a_folder_that_cannot_be_written_is_harmless(place, monkeypatch):
    store("old", [b"code"])

    def refuse(*arguments, **options):
        raise PermissionError("read-only file system")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    store("key", [b"code"])
    assert load("key") is None
    assert load("old") == [b"code"]


def test_a_disk_that_fills_up_leaves_nothing_behind(place, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.replace", refuse)
    store("key", [b"code"])
    assert entries(place) == []


def test_what_was_unused_longest_goes_first(place):
    for age, key in enumerate(["new", "middle", "old"]):
        store(key, [b"x" * 1000], limit=10**9)
        os.utime(place / f"{key}.code", (1e9 - age, 1e9 - age))
    assert load("old") is not None  # a use makes it the newest
    store("last", [b"x" * 1000], limit=3000)
    assert entries(place) == ["last.code", "old.code"]


def test_files_half_written_long_ago_are_cleared_away_too(place):
    store("key", [b"x" * 100])
    (place / ".left.new").write_bytes(b"x" * 5000)
    os.utime(place / ".left.new", (1e9, 1e9))
    (place / "somebody else's file").write_bytes(b"x" * 5000)
    make_room(limit=2000)
    assert entries(place) == ["key.code", "somebody else's file"]
