"""The singular configurations that a run passed: told of, led over, or the end of the run.

There branches of the motion cross. The equations alone let it go on along any of them; a velocity that does not jump
belongs to one, and a run that keeps it goes on as far as its equations say. One that is led onto another branch, by
errors below its tolerance, has a kink: what follows depends on them, and every method finds something else. Such a run
is led over the place (`daedalus.simulation.singular.leading_over`), or ends there. Runs by steps of index 2 and 3 are
led over wherever there is a way: velocities are not determined there, and what errors make of them need not show.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

from daedalus.deadline import poll
from daedalus.simulation.result.ending import Ending, Obstacle
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.outcome import Outcome
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_on_the_way import DeadCentresPassed
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.dead_centre_crossing import passage_of
from daedalus.simulation.run.next_piece import next_piece
from daedalus.simulation.run.pieces import CUT_SHORT, go_on, sampled_piece
from daedalus.simulation.run.road import Piece
from daedalus.simulation.run.stop_reason import ended_from_outside
from daedalus.simulation.singular.cut_pieces import cut_at
from daedalus.simulation.singular.leading_over import until
from daedalus.simulation.singular.rank_watch import rank_watch_of
from daedalus.simulation.singular.singular_places import Passed
from daedalus.simulation.singular.stopped_places import near_dead_centre

# Ways over dead centres in one run.
MOST_WAYS = 1000


def along_branches(first: Piece, whole: Trajectory, progress: Any, cancel: Any) -> Trajectory:
    """The run with records of the singular configurations that it passed, and with ways over those that it did not.

    It ends at the first that it did not pass and that has no way over it. Pieces are looked through once, in order.
    """
    pieces, ways, k = list(whole.pieces), 0, 0
    request, settings, changed = first.road.request, first.settings, False
    began = perf_counter()
    has_steps = request.save_at is None
    while k < len(pieces):
        poll("singular places")
        passed, led, kink = passage_of(first, pieces[k], ways < MOST_WAYS)
        if passed:
            pieces[k], changed = _told(pieces[k], passed), True
        if led is not None:
            begin, ending, changed = float(led.dense_spans[0][0]), pieces[-1].status, True
            if ending in CUT_SHORT:  # nothing is left to go on with
                stop = ended_from_outside(ending, begin, settings.time_limit, settings.max_steps)
                pieces[k:] = [cut_at(pieces[k], stop, has_steps, project=True)]
                break
            pieces[k] = until(pieces[k], begin, has_steps)
            spent = perf_counter() - began + sum(piece.work.seconds for piece in whole.pieces)
            pieces[k + 1 :] = _gone_on(first, led, pieces[: k + 1], progress, cancel, spent).pieces
            k, ways = k + 2, ways + 1  # the piece before the way and the way itself are known
        elif kink is not None:
            pieces[k:], changed = [_ended(pieces[k], kink, has_steps)], True
            break
        else:
            k += 1
    return joined(pieces) if changed else whole


def _gone_on(
    first: Piece, led: Trajectory, before: list[Trajectory], progress: Any, cancel: Any, spent: float
) -> Trajectory:
    """A way over a dead centre behind some pieces, and what follows it."""
    save_at, t1, remaining = first.road.request.save_at, first.road.request.t1, None
    if save_at is not None:
        remaining = save_at[sum(len(piece._times) for piece in before) :]
        led = sampled_piece(led, remaining, project=False)
    if led.status is Ending.FINISHED:
        return led
    return go_on(led, partial(next_piece, first), t1, remaining, progress, cancel, spent)


def _told(piece: Trajectory, passed: list[Passed]) -> Trajectory:
    """The piece with a record of the places that it passed."""
    if not passed:
        return piece
    record = DeadCentresPassed(tuple(place.time for place in passed))
    return piece.remade(piece.status, partial(_with_record, piece, record))


def _with_record(piece: Trajectory, record: Record) -> Outcome:
    return replace(piece.outcome, records=(*piece.outcome.records, record))


def _ended(piece: Trajectory, place: Passed, has_steps: bool) -> Trajectory:
    """The piece up to where it left its branch."""
    watch = rank_watch_of(piece._plant)
    assert watch is not None
    facts = ("the run has a kink there",)
    return cut_at(piece, near_dead_centre(place.time, watch.labels, place.weak, facts, Obstacle.LEFT_BRANCH), has_steps)
