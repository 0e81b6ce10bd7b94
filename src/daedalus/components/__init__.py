"""Components with ports, by domain: `dd.components.electrical.Resistor("r1", resistance=100.0)`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daedalus.components import electrical, hydraulic, machines, rotational, signals, thermal, translational
    from daedalus.components.spice.analyses.run_spice import run_spice
    from daedalus.components.spice.from_spice import from_spice

_DOMAINS = ("electrical", "rotational", "translational", "hydraulic", "thermal", "signals", "machines")

__all__ = [
    "electrical", "from_spice", "hydraulic", "machines", "rotational", "run_spice", "signals", "thermal",
    "translational",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _DOMAINS:
        return import_module(f"daedalus.components.{name}")
    if name == "run_spice":
        return import_module("daedalus.components.spice.analyses.run_spice").run_spice
    if name == "from_spice":
        return import_module("daedalus.components.spice.from_spice").from_spice
    raise AttributeError(f"module 'daedalus.components' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
