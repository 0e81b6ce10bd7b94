"""The archive of an FMU as data: what it holds is checked before anything of it is written to the disk.

Refused: entries outside the archive's folder, links, encrypted or overlapping entries, more or larger files than a
model has, and what unpacks to far more than it was (D. Fifield, "A better zip bomb", WOOT 2019).
"""

from __future__ import annotations

import os
import platform
import re
import stat
import sys
import tempfile
import zipfile
from pathlib import Path

from daedalus.errors import InputError

# Far above FMUs that are known, far below what an archive can ask for.
MOST_FILES = 20_000
MOST_BYTES = 4_000_000_000
MOST_DESCRIPTION = 256_000_000
# No program or table shrinks more: zlib's own limit is 1032, and files of zeros are near it.
MOST_RATIO = 500
SMALL = 10_000_000  # bytes that may have any ratio
DESCRIPTION = "modelDescription.xml"
ENDINGS = {"linux": ".so", "darwin": ".dylib", "win32": ".dll"}


class FmuArchive:
    """An FMU that was opened and found harmless to unpack."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise InputError("An FMU is read from a path.", f"got {type(path).__name__}", remedy='"model.fmu"')
        self.path = Path(path)
        self.name = self.path.name
        try:
            with zipfile.ZipFile(self.path) as archive:
                self.entries = archive.infolist()
                self._check()
                self.description = self._read(archive, DESCRIPTION)
        except FileNotFoundError as error:
            raise InputError(
                f"There is no file {self.name!r}.", f"path {self.path}", remedy="the path of an FMU"
            ) from error
        except (OSError, zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, ValueError, NotImplementedError) as error:
            raise self._refused("cannot be opened", str(error)[:200], "an FMU is a zip archive.") from error

    def _refused(
        self, what: str, facts: str, because: str, remedy: str = "the file as its tool wrote it"
    ) -> InputError:
        return InputError(f"The FMU {self.name!r} {what}.", facts, because, remedy)

    def _check(self) -> None:
        """Refuse an archive that would do harm."""
        if len(self.entries) > MOST_FILES:
            raise self._refused("has too many files", f"{len(self.entries)} entries", f"at most {MOST_FILES} are read.")
        seen: set[str] = set()
        for entry in self.entries:
            self._check_name(entry, seen)
            if entry.file_size > SMALL and entry.file_size > MOST_RATIO * max(1, entry.compress_size):
                raise self._refused(
                    "unpacks to far more than it holds",
                    f"{entry.filename!r}: {entry.compress_size} bytes to {entry.file_size}",
                    "no program or table shrinks that much.",
                )
        total = sum(entry.file_size for entry in self.entries)
        if total > MOST_BYTES:
            raise self._refused("is too large", f"{total} bytes unpacked", f"at most {MOST_BYTES} are read.")
        self._check_overlaps()
        if DESCRIPTION not in seen:
            raise self._refused(
                f"has no {DESCRIPTION}", f"{len(self.entries)} entries: {', '.join(sorted(seen)[:4])}",
                "this file says what the model is.", "an FMU of version 2.0 or 3.0",
            )  # fmt: skip

    def _check_name(self, entry: zipfile.ZipInfo, seen: set[str]) -> None:
        name = entry.filename
        parts = name.split("/")
        outside = name.startswith("/") or ".." in parts or "\\" in name or re.match(r"^[A-Za-z]:", name) or "\0" in name
        if outside or any(ord(letter) < 32 for letter in name):
            raise self._refused("has an entry outside its folder", f"{name!r}", "it would be written elsewhere.")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise self._refused("has a link", f"{name!r}", "a link can point outside the archive.")
        if entry.flag_bits & 0x1:
            raise self._refused("is encrypted", f"{name!r}", "there is no password to open it with.")
        if name in seen or name.rstrip("/").lower() in {other.lower() for other in (seen if len(seen) < 50 else ())}:
            raise self._refused("has an entry twice", f"{name!r}", "only one of them can be meant.")
        seen.add(name)

    def _check_overlaps(self) -> None:
        end = 0
        for entry in sorted(self.entries, key=lambda e: e.header_offset):
            if entry.header_offset < end:
                raise self._refused(
                    "has overlapping entries", f"{entry.filename!r}", "the same bytes would unpack twice."
                )
            end = entry.header_offset + 30 + entry.compress_size

    def _read(self, archive: zipfile.ZipFile, name: str) -> bytes:
        if archive.getinfo(name).file_size > MOST_DESCRIPTION:
            raise self._refused("has a description that is too large", f"{archive.getinfo(name).file_size} bytes", "")
        return archive.read(name)

    # -- what is in it ----------------------------------------------------------------------------------------

    def platforms(self) -> list[str]:
        """The platforms that it has libraries for."""
        found = {e.filename.split("/")[1] for e in self.entries if e.filename.startswith("binaries/")}
        return sorted(found - {""})

    def library(self, identifier: str, version: int) -> str:
        """The entry of the library for this machine; an InputError with the platforms that there are."""
        names = {entry.filename for entry in self.entries}
        for folder in own_platforms(version):
            entry = f"binaries/{folder}/{identifier}{ENDINGS.get(sys.platform, '.so')}"
            if entry in names:
                return entry
        there = ", ".join(self.platforms()) or "none"
        sources = any(name.startswith("sources/") for name in names)
        raise InputError(
            f"The FMU {self.name!r} has no library for this machine.",
            f"needed: {own_platforms(version)[0]}/{identifier}; there: {there}{'; and C sources' if sources else ''}",
            because="an FMU contains machine code for certain platforms.",
            remedy="an FMU exported for this platform" + (", or its sources compiled" if sources else ""),
        )

    def unpacked(self, library: str) -> tempfile.TemporaryDirectory[str]:
        """A folder with the libraries of this platform and the resources; it goes when the object does."""
        folder = tempfile.TemporaryDirectory(prefix="daedalus_fmu_")
        wanted = (library.rsplit("/", 1)[0] + "/", "resources/")
        (Path(folder.name) / "resources").mkdir()
        try:
            with zipfile.ZipFile(self.path) as archive:
                for entry in archive.infolist():
                    if entry.filename.startswith(wanted) and not entry.is_dir():
                        self._write(archive, entry, Path(folder.name) / entry.filename)
        except (OSError, zipfile.BadZipFile, EOFError, NotImplementedError, ValueError) as error:
            folder.cleanup()
            raise self._refused("cannot be unpacked", str(error)[:200], "an entry is damaged.") from error
        except InputError:
            folder.cleanup()
            raise
        return folder

    def _write(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        left = entry.file_size
        with archive.open(entry) as source, target.open("wb") as written:
            while piece := source.read(1 << 20):
                left -= len(piece)
                if left < 0:
                    raise self._refused("holds more than it says", f"{entry.filename!r}", "its sizes are false.")
                written.write(piece)
        target.chmod(0o755 if entry.filename.startswith("binaries/") else 0o644)


def own_platforms(version: int) -> tuple[str, ...]:
    """The folders in which an FMU keeps the library for this machine."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}.get(sys.platform, sys.platform)
    new = f"{machine}-{system}"
    old = {"linux": "linux64", "darwin": "darwin64", "windows": "win64"}.get(system, "")
    if version == 2:
        return (old, new) if machine == "x86_64" or system == "darwin" else (new,)
    return (new,)
