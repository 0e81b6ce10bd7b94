"""Known systems with known solutions. `catalogue.names()` lists them and `catalogue.load(name)` returns one ready to
run."""

from daedalus.catalogue.known_system import KnownSystem
from daedalus.catalogue.loading import describe, load, names
from daedalus.catalogue.reference import Reference

__all__ = ["KnownSystem", "Reference", "describe", "load", "names"]


def __dir__() -> list[str]:
    return sorted(__all__)
