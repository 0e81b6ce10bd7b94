"""The mechanics of a system: what it was written with, kept as a part of it, and the functions made from that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daedalus.errors import InputError, ModelError
from daedalus.model.mechanics.motion_functions import MotionFunctions, motion_functions
from daedalus.model.names import listed
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System

if TYPE_CHECKING:
    from daedalus.model.doors.energies import EnergyDoor


@dataclass(frozen=True, eq=False)
class Mechanics:
    """A part of a system that a model was frozen into: a copy of the model; None where nothing in it moves."""

    book: EnergyDoor | None


@remembered
def motion_of(system: System) -> MotionFunctions:
    """M, h, τ, G and γ of a system, made once; refuses a system without mechanics with a ModelError."""
    mechanics = system.part(Mechanics)
    if mechanics is None or mechanics.book is None:
        raise ModelError(
            f"The model {system.name!r} has no mechanics.",
            "no coordinate and no body is declared",
            because="mass matrix and constraint Jacobian belong to what moves.",
            remedy="m.coordinate(...) and m.kinetic_energy(...), or m.body(...)",
        )
    return motion_functions(mechanics.book, system)


def motion_or_none(system: System) -> MotionFunctions | None:
    """The same, None for what is not a mechanical system, or has forces that the functions cannot express."""
    mechanics = system.part(Mechanics)
    if mechanics is None or mechanics.book is None:
        return None
    try:
        return motion_of(system)
    except ModelError:
        return None


def touching_book(system: System) -> Any:
    """The model that a system was written as where it has hard contacts between bodies; None elsewhere."""
    part = system.part(Mechanics) if system.discrete_count else None
    book: Any = None if part is None else part.book
    if book is None or not any(not contact.compliant for contact in book.written.mechanics.touching.values()):
        return None
    return book


def refuse_touching(system: System, what: str) -> None:
    """Refuse hard contacts between bodies by name."""
    book = touching_book(system)
    if book is not None:
        raise InputError(
            f"{what} does not support hard contacts between bodies.",
            f"the model has {listed([c.name for c in book.written.mechanics.touching.values() if not c.compliant], 6)}",
            because="only dd.simulate, dd.sweep and dd.sensitivities compute contact forces step by step.",
            remedy="dd.simulate, dd.sweep or dd.sensitivities, or stiffness= in m.contact for compliant contacts",
        )
