"""Make a model solvable before a run: as it stands where possible, else with its index reduced, and say so."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

from daedalus.errors import DaedalusError, SingularModelError
from daedalus.model.model import Model, as_system
from daedalus.model.reopened import as_model
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import LargeBlock, explicit_form
from daedalus.reduction.forms.linear_form import linear_form
from daedalus.reduction.selection.selected_states import without_choice
from daedalus.simulation.start.singular_mass import check_general_mass


@dataclass(frozen=True)
class Unsolved:
    """Why a model has no system that gives x' and z by formulas or linear solves."""

    found: DaedalusError

    @property
    def error(self) -> DaedalusError:
        """The error that says so, to be raised: a copy, so that what is kept holds on to no caller."""
        fresh = copy(self.found)
        vars(fresh).update(vars(self.found))
        return fresh

    @property
    def reason(self) -> str:
        """The facts in one line."""
        return "; ".join(self.found.facts)


def solvable(model: Model | System) -> System | Unsolved:
    """The system that is run for a model: its own, or that of `dd.reduce(model)`; found once and kept.

    Of a model with a choice of states all are integrated, and its constraints are invariants.
    """
    return once(without_choice(as_system(model)), _found, By(model))


def _found(system: System, model: By[Model | System]) -> System | Unsolved:
    try:
        return _made_solvable(model.value, system)
    except DaedalusError as error:
        return Unsolved(error.with_traceback(None))


def _made_solvable(model: Model | System, system: System) -> System:
    # An input may close a loop that makes the system solvable, so only a failure without inputs is decisive.
    try:
        _check_determined(system)
    except SingularModelError:
        from daedalus.reduction.reduce import reduced_with

        book = as_model(model)
        if not book._mechanics.constraints:
            check_general_mass(system)
        reduced = reduced_with(book, {}).freeze()
        _check_determined(reduced)
        return reduced
    return system


def _check_determined(system: System) -> None:
    """Raise where x' and z do not follow from the equations as they stand."""
    try:
        explicit_form(system)
    except LargeBlock:
        linear_form(system)
