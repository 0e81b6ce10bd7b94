"""Puts the core that `make sanitize` builds in the place of the usual one, in this process and in all that it starts.

Python imports this file at its start where its folder is on PYTHONPATH; DAEDALUS_WATCHED_CORE names the core.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from typing import Any


class WatchedCore:
    """Finds `daedalus._core` alone."""

    def __init__(self, place: str) -> None:
        self._place = place

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Where the core is; nothing of other modules."""
        if name != "daedalus._core":
            return None
        return spec_from_file_location(name, self._place, loader=ExtensionFileLoader(name, self._place))


if place := os.environ.get("DAEDALUS_WATCHED_CORE"):
    sys.meta_path.insert(0, WatchedCore(place))  # type: ignore[arg-type]
