"""Locks that stay usable in a forked child: nobody else holds them at the moment of the fork."""

from __future__ import annotations

import os
import threading
from typing import Any


def fork_safe_lock() -> Any:
    """A re-entrant lock that a forking thread holds across the fork: the child finds it free and its data whole.

    Example
    -------
    >>> with fork_safe_lock():
    ...     pass
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock
