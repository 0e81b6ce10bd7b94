"""Object code on disk: whole or absent, never an exception, never above its size."""

import hashlib
import os
from pathlib import Path

import pytest

from daedalus.compilation import disk_cache, own_files
from daedalus.compilation.disk_cache import cache_folder, load, make_room, store, why_not_used


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path / "kept" / "code"))
    return tmp_path / "kept" / "code"


def entries(place: Path) -> list[str]:
    """The files of a folder, without code of functions that earlier tests still compile in the background."""
    return sorted(path.name for path in place.iterdir() if len(path.stem) < 64)


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


def test_contents_under_another_key_are_not_used(place):
    store("key", [b"code"])
    store("other", [b"other code"])
    (place / "key.code").write_bytes((place / "other.code").read_bytes())
    assert load("key") is None
    assert entries(place) == ["other.code"]
    assert load("other") == [b"other code"]


def test_an_entry_of_the_former_layout_is_written_anew(place):
    body = b"\x04\0\0\0\0\0\0\0code"
    store("key", [b"code"])
    (place / "key.code").write_bytes(b"daedalus object code 1\n" + hashlib.sha256(body).digest() + body)
    assert load("key") is None
    store("key", [b"code"])
    assert load("key") == [b"code"]


def test_code_of_other_users_is_not_used(monkeypatch):
    status = os.stat_result((0o100600, 0, 0, 1, 1234, 1234, 4, 0, 0, 0))
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert own_files.changed_by_others(status) == "it belongs to another user"
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    assert own_files.changed_by_others(status) == ""


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_to_is_neither_read_nor_written(place, mode, caplog):
    store("key", [b"code"])
    place.chmod(mode)
    assert load("key") is None
    store("new", [b"code"])
    assert entries(place) == ["key.code"]
    told = f"the folder of compiled code {place} is not used: others can write to it"
    assert why_not_used() == told
    assert caplog.messages.count(told) == 1
    place.chmod(0o700)
    assert load("key") == [b"code"]
    assert why_not_used() == ""


def test_a_folder_of_another_user_is_not_used(place, monkeypatch):
    store("key", [b"code"])
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    monkeypatch.setattr(own_files, "changed_by_others", lambda status: "it belongs to another user")
    assert load("key") is None
    assert why_not_used().endswith("is not used: it belongs to another user")


def test_a_pipe_in_place_of_an_entry_does_not_hang(place):
    store("key", [b"code"])
    (place / "key.code").unlink()
    os.mkfifo(place / "key.code", 0o600)
    assert load("key") is None
    store("key", [b"code"])
    assert load("key") == [b"code"]


def test_a_pipe_in_place_of_the_folder_does_not_hang(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe", 0o600)
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path / "pipe"))
    store("key", [b"code"])
    assert load("key") is None
    assert why_not_used().endswith("is not used: it is not a folder")


def test_a_folder_in_place_of_an_entry_is_harmless(place):
    (place / "key.code").mkdir(parents=True, mode=0o700)
    place.chmod(0o700)
    assert load("key") is None
    store("key", [b"code"])
    assert load("key") is None
    assert entries(place) == ["key.code"]


def test_entries_are_not_looked_up_through_links(place, tmp_path):
    store("key", [b"code"])
    (place / "key.code").rename(tmp_path / "elsewhere")
    (place / "key.code").symlink_to(tmp_path / "elsewhere")
    assert load("key") is None
    store("key", [b"new"])
    assert load("key") == [b"new"]
    assert (tmp_path / "elsewhere").exists()


def test_the_folder_itself_may_be_a_link_and_is_judged_at_its_end(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path / "link"))
    store("key", [b"code"])
    assert load("key") == [b"code"]
    (tmp_path / "real").chmod(0o777)
    assert load("key") is None


def test_why_there_is_no_cache_is_told(monkeypatch):
    monkeypatch.setenv("DAEDALUS_CACHE", "off")
    assert why_not_used() == "DAEDALUS_CACHE switches the cache of compiled code off"


def test_what_is_too_large_for_the_cache_is_not_read(place, monkeypatch):
    store("key", [b"x" * 1000])
    monkeypatch.setattr(disk_cache, "SIZE_LIMIT", 500)
    assert load("key") is None


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
