"""Packages that only some exchanges need, imported when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from daedalus.errors import InputError


def needed(module: str, extra: str, package: str, why: str) -> Any:
    """A package of an optional extra; an InputError with the way to install it where it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f"{package} is not installed.",
            because=f"{why}, and it is an optional dependency.",
            remedy=f'pip install "daedalus[{extra}]"',
        ) from error
