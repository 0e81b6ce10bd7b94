"""Results that cannot be held in memory are refused before anything runs."""

from __future__ import annotations

import os
from pathlib import Path

from daedalus.errors import InputError

# So much is to be had everywhere.
ALWAYS = 2**24


def available_bytes() -> int | None:
    """The memory that can be had without swapping, None where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def check_memory(needed: int, fact: str, remedy: str) -> None:
    """Refuse a result of so many bytes where they are not to be had."""
    if needed <= ALWAYS:
        return
    free = available_bytes()
    if free is not None and needed > free:
        raise InputError(
            "The result of the sweep does not fit into memory.",
            f"{fact}: {needed / 2**30:.3g} GiB, {free / 2**30:.3g} GiB are free",
            remedy=remedy,
        )
