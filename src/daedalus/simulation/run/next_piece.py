"""What comes next where a piece of a run stopped before the end: an ordered list of rules, one file each.

A rule `rule(first, done)` gets the piece that the run began with, and the piece that stopped. It answers as
`daedalus.simulation.run.pieces` says, and None where the end is not its matter. The first answer counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from daedalus.analysis.structure.written_structure import variable_index
from daedalus.errors import InconsistentStartError
from daedalus.integrators.methods import METHODS
from daedalus.integrators.tableaux.collocation import radau_iia
from daedalus.simulation.result.ending import Ending, Stop
from daedalus.simulation.result.records_of_methods import FullNewton, ImplicitChosen
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.dead_centre_crossing import back_to_dead_centre, cross_dead_centre
from daedalus.simulation.run.pieces import Next
from daedalus.simulation.run.rechosen_constraints import choose_constraints, with_other_constraints
from daedalus.simulation.run.reselection import with_another_choice
from daedalus.simulation.run.road import Piece, road_through
from daedalus.simulation.run.settings import has_junctions
from daedalus.simulation.run.stiff_start import go_on_implicitly
from daedalus.simulation.singular.stopped_places import named_place
from daedalus.simulation.sliding.slide import come_to_rest, leave_surface, slide_along
from daedalus.simulation.switching.unlocated_switches import piece_without_cuts, with_unknowns_solved_anew

# Rule of a run: a Radau step of fixed length that one matrix for all stages cannot do gets a matrix for each.


def with_full_newton(first: Piece, done: Trajectory) -> Piece | None:
    """The rest of a Radau run at fixed step, with a matrix of its own for each stage, where one for all led nowhere.

    A long step cannot be made shorter here, and its stages see equations that differ much. The run goes on with the row
    that it came to, which hidden constraints need not know.
    """
    step = first.road.request.step
    if done.status is not Ending.NEWTON_FAILED or step is None or done.method not in METHODS:
        return None
    if METHODS[done.method].family != "radau" or any(isinstance(record, FullNewton) for record in done.records):
        return None
    begin, full = done._source.stop_time, radau_iia((METHODS[done.method].order + 1) // 2)
    settings = first.continued_settings(done.system, full)
    settings = replace(settings, method=done.method, notes=(*settings.notes, FullNewton(begin, step)))
    return first.behind(done, settings, begin, done._source.end)


# Rule of a run: where the method that was chosen for a circuit cannot solve its steps, another one goes on. A thyristor
# that fires moves currents by ten decades within one step: stages of a Rosenbrock method go beyond what an exponential
# holds there, Newton's method of three coupled stages finds no way from its guess, and one of one stage does, or the
# other way round. Each method runs once. Where a matrix is singular at the very start, as that of t z = t (1 + t) is,
# the stages of a step that begins there cannot be solved, but a step of one stage at its end can.
NEXT_METHOD = {"radau9": "radau5", "rodas5p": "radau5", "radau5": "bdf"}
UNSOLVED = (Ending.NOT_FINITE, Ending.STEP_TOO_SMALL)


def by_another_method(first: Piece, done: Trajectory) -> Piece | None:
    """The rest of a run by the next method, where the one that was chosen did not solve the steps of a circuit."""
    road, request = first.road, first.road.request
    name = NEXT_METHOD.get(done.method)
    if name is None or request.method != "auto" or request.step is not None or first.settings.watched is not None:
        return None
    if done.status is Ending.SINGULAR and float(done.end.time) == first.begin:
        name = "bdf"
    elif not has_junctions(done.system) or not (done.status.is_unsolved or done.status in UNSOLVED):
        return None
    if variable_index(done.system).largest > 1:
        return None
    end = done.end
    why = ImplicitChosen(name, f"{done.method} stopped at t = {float(end.time):.6g}")
    try:
        return begin(road_through(request, done.system, road.inputs, name, why, float(end.time)), float(end.time), end)
    except InconsistentStartError:  # the row that it came to is none to begin with
        return None


def name_the_place(first: Piece, done: Trajectory) -> Stop | None:
    """The end where the run stopped at a dead centre or at a fold of its algebraic equations."""
    return named_place(done)


Rule = Callable[[Piece, Trajectory], Next]
# A model with a choice of states goes on with another choice, or not at all.
OF_CHOICES: tuple[Rule, ...] = (with_another_choice,)
# What delayed signals were is known in one piece.
OF_DELAYS: tuple[Rule, ...] = (name_the_place,)
RULES: tuple[Rule, ...] = (
    back_to_dead_centre,
    go_on_implicitly,
    leave_surface,
    slide_along,
    come_to_rest,
    with_unknowns_solved_anew,
    piece_without_cuts,
    with_full_newton,
    by_another_method,
    with_other_constraints,
    cross_dead_centre,
    name_the_place,
)


# What derivatives follow: no other method, no other matrix for stages, no way over a singular configuration.
DIFFERENTIATED: tuple[Rule, ...] = (
    leave_surface,
    slide_along,
    come_to_rest,
    with_unknowns_solved_anew,
    piece_without_cuts,
    choose_constraints,
    name_the_place,
)


def next_piece(first: Piece, done: Trajectory, rules: tuple[Rule, ...] = RULES) -> Next:
    """What follows a piece that stopped before the end, by the rules of its run."""
    if done.system.choices or done.system.delayed:
        rules = OF_DELAYS if done.system.delayed else OF_CHOICES
    for rule in rules:
        following = rule(first, done)
        if following is not None:
            return following
    return None
