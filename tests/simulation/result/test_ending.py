"""Endings are words with a meaning, and the record of an end says in fields what its sentence says."""

import json
import pickle

import pytest

import daedalus as dd
from daedalus.simulation.result.ending import ENDINGS, Ending, Obstacle, Stop


def explosion():
    m = dd.Model("explosion")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x**2)
    return m


@pytest.mark.parametrize("ending", Ending)
def test_a_member_is_its_word(ending):
    word = ending.value
    assert ending == word
    assert (str(ending), f"{ending:>15}", repr(ending)) == (word, f"{word:>15}", repr(word))
    assert {word: 1}[ending] == {ending: 1}[word] == 1
    assert json.loads(json.dumps(ending)) == word
    assert pickle.loads(pickle.dumps(ending)) is ENDINGS[word] is ending


def test_what_follows_from_an_ending():
    assert [e for e in Ending if e.success] == ["finished", "event"]
    assert [e for e in Ending if e.final] == [
        "finished", "interrupted", "cancelled", "step_limit", "time_limit", "memory_limit", "conflict",
        "endless", "call_failed",
    ]  # fmt: skip
    # Nothing that a rule of continuation takes up is final, and what says what to try is somebody's fault.
    doubts = [name for name in Ending.__annotations__ if name.startswith("may_")]
    assert not any(getattr(e, doubt) for e in Ending if e.final or e.success for doubt in doubts)
    assert all(e.is_fault for e in Ending if e.tells_remedy)
    assert all(e.sentence and e.remedy for e in Ending)


def test_a_run_carries_the_record_of_its_end():
    tr = dd.simulate(explosion(), 2.0)
    assert tr.status is Ending.STEP_TOO_SMALL
    assert tr.stop == Stop(
        Ending.STEP_TOO_SMALL,
        tr.end.time,
        "step size fell below 2.2e-15 at t = 1",
        ("largest scaled error in x",),
        "a shorter span if the solution diverges there, or an event where the equations jump",
        ("x",),
    )
    assert str(tr.stop) == tr.stop_reason


def test_an_error_is_made_of_the_fields():
    with pytest.raises(dd.SolverError) as caught:
        dd.simulate(explosion(), 2.0, on_stop="raise")
    error, stop = caught.value, caught.value.trajectory.stop
    assert error.facts[0] == stop.sentence == "step size fell below 2.2e-15 at t = 1; largest scaled error in x"
    assert error.remedy == stop.remedy


def test_an_event_is_named_in_a_field():
    m = explosion()
    m.event("large", m["x"] - 10, terminal=True)
    tr = dd.simulate(m, 2.0)
    assert (tr.success, tr.status, tr.stop.event) == (True, "event", "large")


def test_fields_of_a_file_are_words():
    end = Stop("stuck", 0.5, "it jams", obstacle="impasse")
    assert (end.ending, end.obstacle) == (Ending.STUCK, Obstacle.IMPASSE)
    with pytest.raises(KeyError):
        Stop("adjourned", 0.5, "it waits")
