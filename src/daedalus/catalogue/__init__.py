"""Known systems with known answers: `catalogue.names()` lists them, `catalogue.load(name)` gives one ready to run."""

from daedalus.catalogue.known_system import KnownSystem
from daedalus.catalogue.loading import describe, load, names
from daedalus.catalogue.reference import Reference

__all__ = ["KnownSystem", "Reference", "describe", "load", "names"]
