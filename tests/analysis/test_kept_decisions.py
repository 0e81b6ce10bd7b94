"""Decisions on disk: read by the next process, made anew where anything they follow from has changed, never trusted."""

import json

import numpy as np
import pytest

import daedalus as dd
from daedalus.analysis import kept_decisions
from daedalus.analysis.kept_decisions import NotADecisionError, kept_decision
from daedalus.compilation import disk_cache
from daedalus.reduction.redundancy.independent_constraints import Redundancy, redundancy_at_start


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))
    return tmp_path


def read_number(plain):
    if type(plain) is not int:
        raise NotADecisionError
    return plain


def ask(about, made):
    return kept_decision("how many", about, lambda: made, int, read_number)


def test_a_decision_is_made_once_for_what_it_follows_from(monkeypatch):
    assert ask(("equations", 1), 3) == 3
    assert ask(("equations", 1), 4) == 3
    assert ask(("equations", 2), 4) == 4
    monkeypatch.setattr(kept_decisions, "_program", lambda: "changed")
    assert ask(("equations", 1), 5) == 5


@pytest.mark.parametrize("content", [b"", b"[", b'"3"', b"null", b"\xff", b"1e999", b"true"])
def test_what_is_no_answer_is_decided_anew(monkeypatch, content):
    ask((), 3)
    monkeypatch.setattr(disk_cache, "load", lambda key: [content])
    assert ask((), 4) == 4


def test_damaged_entries_and_no_cache_are_harmless(place, monkeypatch):
    ask((), 3)
    (entry,) = place.glob("*.code")
    entry.write_bytes(entry.read_bytes()[:-1])
    assert ask((), 4) == 4
    monkeypatch.setenv("DAEDALUS_CACHE", "off")
    assert ask((), 5) == 5


def four_bar(coupler=2.0):
    """A four-bar linkage of bodies in space, plane and therefore with redundant constraints."""
    m = dd.Model("four-bar")
    m.gravity([0, 0, -9.81])
    ends = np.array([[0.0, 0, 0], [0, 0, 1], [coupler, 0, 1], [coupler, 0, 0]])
    before, at = dd.ground, [0.0, 0.0, 0.0]
    for k in range(3):
        middle, half = (ends[k] + ends[k + 1]) / 2, (ends[k + 1] - ends[k]) / 2
        body = m.body(f"b{k}", mass=1.0, inertia=[0.1, 0.1, 0.1], position=middle.tolist())
        m.joint(f"j{k}", "revolute", before, body, at_a=at, at_b=(-half).tolist(), axis_a=[0, 1, 0], axis_b=[0, 1, 0])
        before, at = body, half.tolist()
    m.joint("last", "revolute", before, dd.ground, at_a=at, at_b=ends[3].tolist(), axis_a=[0, 1, 0], axis_b=[0, 1, 0])
    return m


def test_independent_constraints_are_chosen_once(monkeypatch):
    first = redundancy_at_start(four_bar().freeze()).first
    assert len(first.dependent) == 3
    with monkeypatch.context() as patch:
        patch.setattr(Redundancy, "choose", lambda *given: pytest.fail("chosen again"))
        assert redundancy_at_start(four_bar().freeze()).first == first
        with pytest.raises(pytest.fail.Exception):
            redundancy_at_start(four_bar(coupler=2.1).freeze())


@pytest.mark.parametrize(
    "spoil", [lambda p: p[0].append(99), lambda p: p[1].clear(), lambda p: p[2].append([[0], [0]])]
)
def test_a_choice_that_does_not_fit_is_not_taken(monkeypatch, spoil):
    first = redundancy_at_start(four_bar().freeze()).first
    plain = first.to_plain()
    spoil(plain)
    monkeypatch.setattr(disk_cache, "load", lambda key: [json.dumps(plain).encode()])
    assert redundancy_at_start(four_bar().freeze()).first == first
