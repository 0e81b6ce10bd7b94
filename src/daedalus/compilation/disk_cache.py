"""Object code on disk, so that the next process need not compile again; whatever goes wrong with it is harmless.

One file an entry: a mark, the SHA-256 of all that follows, then the key and the objects, each behind its length. A file
appears whole or not at all (written beside, then renamed), so processes may share a folder. An entry that is cut,
changed, stored under another key, unreadable or not this user's counts as absent; a folder that others can write to is
not used at all. The folder is kept below a size by dropping what was unused longest.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from daedalus.compilation import own_files
from daedalus.compilation.counting import count

logger = logging.getLogger(__name__)

Code = TypeVar("Code")

FOLDER_VARIABLE = "DAEDALUS_CACHE"
# Bytes on disk; what was used longest ago goes first.
SIZE_LIMIT = 512 * 2**20

_MARK = b"daedalus object code 2\n"
_SUFFIX = ".code"
# After a clean-up the folder is this full, so that not every later entry needs another one.
_KEPT_SHARE = 0.8
# The folder is measured once in about this share of the limit written.
_SHARE_BETWEEN_CHECKS = 1 / 64


def cache_folder() -> Path | None:
    """Where object code is kept: DAEDALUS_CACHE, or the user's cache folder; None when that is "" or "off".

    Example
    -------
    >>> folder = cache_folder()
    >>> folder is None or folder.is_absolute() or bool(folder.name)
    True
    """
    chosen = os.environ.get(FOLDER_VARIABLE)
    if chosen is not None:
        return None if chosen.strip().lower() in ("", "off") else Path(chosen).expanduser()
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "daedalus" / "cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "daedalus"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "daedalus"
    except RuntimeError:
        # Nobody's home: a user without a home folder has no cache.
        return None


def why_not_used() -> str:
    """Why the cache is neither read nor written, in a sentence; empty where it is in use."""
    place = cache_folder()
    if place is None:
        if FOLDER_VARIABLE in os.environ:
            return f"{FOLDER_VARIABLE} switches the cache of compiled code off"
        return "a user without a home folder has no cache of compiled code"
    reason = own_files.why_not_used(place)
    return f"the folder of compiled code {place} is not used: {reason}" if reason else ""


@functools.cache
def _warn_once(reason: str) -> None:
    logger.warning("%s", reason)


def code_of(
    key: str, link: Callable[[Sequence[bytes]], Code], make: Callable[[], Sequence[bytes]]
) -> tuple[Code, bool]:
    """The code that `link` makes of the objects under a key, and whether they were stored; else `make` gives them."""
    stored = load(key)
    if stored is not None:
        try:
            code = link(stored)
            count("loaded_from_disk")
            return code, True
        except (OSError, AttributeError, RuntimeError) as error:
            logger.debug("an entry of the code cache could not be linked: %s", error)
    objects = make()
    code = link(objects)
    count("compiled")
    store(key, objects)
    return code, False


def load(key: str) -> list[bytes] | None:
    """The objects stored under a key, or None; never raises.

    Example
    -------
    >>> load("no such key") is None
    True
    """
    place = cache_folder()
    if place is None:
        return None
    path = place / (key + _SUFFIX)
    try:
        data = own_files.read_own(place, path.name, SIZE_LIMIT)
    except OSError:
        return None
    if data is None:
        return None
    objects = _unpacked(data, key)
    if objects is None:
        logger.debug("dropping a damaged entry of the code cache: %s", path)
        _remove(path)
        return None
    # The time of last use decides what is dropped first.
    with contextlib.suppress(OSError):
        os.utime(path)
    return objects


def store(key: str, objects: Sequence[bytes], limit: int = SIZE_LIMIT) -> None:
    """Keep objects under a key; never raises, and gives up quietly where the folder cannot be written."""
    import tempfile

    place = cache_folder()
    if place is None:
        return
    if own_files.why_not_used(place):
        _warn_once(why_not_used())
        return
    body = b"".join(struct.pack("<Q", len(part)) + part for part in (key.encode(), *objects))
    temporary = None
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".new", dir=place)
        with os.fdopen(handle, "wb") as file:
            file.write(_MARK + hashlib.sha256(body).digest() + body)
        os.replace(temporary, place / (key + _SUFFIX))
    except OSError as error:
        logger.debug("the code cache could not be written: %s", error)
        if temporary is not None:
            _remove(Path(temporary))
        return
    if int.from_bytes(os.urandom(4), "little") / 2**32 * limit * _SHARE_BETWEEN_CHECKS <= len(body):
        make_room(limit)


def make_room(limit: int = SIZE_LIMIT) -> None:
    """Bring the folder below its limit by dropping the entries that were not used for longest; never raises."""
    place = cache_folder()
    if place is None:
        return
    entries = []
    try:
        with os.scandir(place) as found:
            for item in found:
                # Files half written by a process that died count too: by age they go first.
                if item.name.endswith((_SUFFIX, ".new")):
                    status = item.stat(follow_symlinks=False)
                    entries.append((status.st_mtime_ns, status.st_size, item.path))
    except OSError:
        return
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, path in sorted(entries):
        if total <= limit * _KEPT_SHARE:
            return
        _remove(Path(path))
        total -= size


def _unpacked(data: bytes, key: str) -> list[bytes] | None:
    """The objects of an entry, or None if it is not whole or was stored under another key."""
    start = len(_MARK) + hashlib.sha256().digest_size
    body = data[start:]
    if not data.startswith(_MARK) or data[len(_MARK) : start] != hashlib.sha256(body).digest():
        return None
    parts, position = [], 0
    while position + 8 <= len(body):
        (length,) = struct.unpack_from("<Q", body, position)
        position += 8
        parts.append(body[position : position + length])
        position += length
    if position != len(body) or len(parts) < 2 or parts[0] != key.encode():
        return None
    return parts[1:]


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
