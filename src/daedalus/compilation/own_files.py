"""Folders and files that nobody but this user and the system's owner can change: what code may be run from.

Looking never waits and never follows: a pipe, a folder or a link in the place of a file counts as absent. A folder may
be reached through a link of the user's own making; it is the folder at its end that counts.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

# Without these on Windows, where rights are not kept in modes and pipes not in folders.
_LOOK = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0)


def changed_by_others(status: os.stat_result) -> str:
    """Why what has this status may have been changed by others, in a few words; empty where it cannot have been."""
    if not hasattr(os, "geteuid"):
        return ""
    if status.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user"
    return "others can write to it" if status.st_mode & 0o022 else ""


def why_not_used(folder: Path) -> str:
    """Why code is not run from a folder, in a few words; empty where it is, or where there is no such folder yet.

    Example
    -------
    >>> import tempfile
    >>> why_not_used(Path(tempfile.mkdtemp()))
    ''
    """
    try:
        status = folder.stat()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or type(error).__name__
    return changed_by_others(status) if stat.S_ISDIR(status.st_mode) else "it is not a folder"


def read_own(folder: Path, name: str, most: int) -> bytes | None:
    """The contents of a plain file of at most `most` bytes; None where it, or its folder, may be changed by others.

    Raises OSError where there is no such file, or it cannot be read.
    """
    if not _FOLDER or os.open not in os.supports_dir_fd:
        return None if why_not_used(folder) else _contents(os.open(folder / name, _LOOK), most)
    # The file is looked up in the very folder that was judged, even if another one takes its name meanwhile.
    place = os.open(folder, _LOOK | _FOLDER)
    try:
        if changed_by_others(os.fstat(place)):
            return None
        return _contents(os.open(name, _LOOK | _NO_LINK, dir_fd=place), most)
    finally:
        os.close(place)


def _contents(handle: int, most: int) -> bytes | None:
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or changed_by_others(status) or status.st_size > most:
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)
