"""Make a model solvable before a run: as it stands where possible, else with its index reduced, and say so."""

from __future__ import annotations

from daedalus.errors import DaedalusError
from daedalus.model.model import Model, as_system
from daedalus.model.reopened import as_model
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.reduction.forms.no_form import FormObstacle, NoForm
from daedalus.reduction.forms.solved_form import find_solved_form
from daedalus.reduction.selection.selected_states import without_choice
from daedalus.simulation.start.singular_mass import check_general_mass


def solvable(model: Model | System) -> System | NoForm:
    """The system that is run for a model: its own, or that of `dd.reduce(model)`; found once and kept.

    Of a model with a choice of states all are integrated, and its constraints are invariants.
    """
    return once(without_choice(as_system(model)), _found, By(model))


def _found(system: System, model: By[Model | System]) -> System | NoForm:
    # An input may close a loop that makes the system solvable, so only a failure without inputs is decisive.
    form = find_solved_form(system)
    if not isinstance(form, NoForm):
        return system
    if form.obstacle is not FormObstacle.SINGULAR:
        return form
    try:
        reduced = _reduced(model.value, system)
    except DaedalusError as error:  # a refusal of the model, kept with it
        return NoForm(error.with_traceback(None))
    form = find_solved_form(reduced)
    return form if isinstance(form, NoForm) else reduced


def of_index_1(system: System) -> System:
    """The system with its index reduced, also where its unknowns have neither formulas nor a linear solve."""
    return once(without_choice(system), _reduced_once)


def _reduced_once(system: System) -> System:
    return _reduced(system, system)


def _reduced(model: Model | System, system: System) -> System:
    from daedalus.reduction.reduce import reduced_with

    book = as_model(model)
    if not book.written.mechanics.constraints:
        check_general_mass(system)
    return reduced_with(book, {}).freeze()
