"""Fingerprints change exactly when what a function reads changes."""

import functools
import threading
import types
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

from daedalus.tracing.captured import fingerprint, private_copy

factor = 2.0
table = np.arange(3.0)
own = types.ModuleType("own")
own.k = 1.0
own.unused = 5.0
Point = namedtuple("Point", "x y")


@dataclass(slots=True)
class Slotted:
    k: float


class Holder:
    shared = 1.0

    def __init__(self, k):
        self.k = k

    def rhs(self, t, y):
        return -self.k * self.shared * y


def reads_globals(t, y):
    return factor * table * y


def reads_module(t, y):
    return own.k * y


def helper(y):
    return factor * y


def calls_helper(t, y):
    return helper(y)


def closure(value):
    return lambda t, y: value * y


def test_equal_code_and_values_are_equal():
    assert fingerprint(closure(1.0)) == fingerprint(closure(1.0))
    assert fingerprint(closure(np.ones(3))) == fingerprint(closure(np.ones(3)))
    assert hash(fingerprint(closure({"a": [1, 2]}))) == hash(fingerprint(closure({"a": [1, 2]})))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1.0, 2.0),
        (1, 1.0),
        (True, 1),
        (np.ones(3), np.ones(4)),
        (np.ones(100), np.r_[np.ones(99), 2.0]),
        ([1.0, 2.0], [2.0, 1.0]),
        ({"k": 1}, {"k": 2}),
        ({1, 2}, {1, 3}),
        (deque([1.0]), deque([2.0])),
        (defaultdict(list, a=[1]), defaultdict(list, a=[2])),
        (Point(1, 2), Point(1, 3)),
        (Slotted(1.0), Slotted(2.0)),
        (Holder(1.0), Holder(2.0)),
        (types.SimpleNamespace(k=1), types.SimpleNamespace(k=2)),
        (closure(1.0), closure(2.0)),
        (functools.partial(max, 1), functools.partial(max, 2)),
        (range(3), range(4)),
        ("a", "b"),
    ],
)
def test_other_values_differ(a, b):
    assert fingerprint(a) is not None or isinstance(a, functools.partial)
    assert fingerprint(closure(a)) != fingerprint(closure(b)) or fingerprint(closure(a)) is None


def test_globals_of_helpers_are_read(monkeypatch):
    before = fingerprint(calls_helper), fingerprint(reads_globals)
    monkeypatch.setitem(globals(), "factor", 3.0)
    assert fingerprint(calls_helper) != before[0]
    assert fingerprint(reads_globals) != before[1]


def test_arrays_written_in_place_are_seen():
    before = fingerprint(reads_globals)
    table[1] += 1
    assert fingerprint(reads_globals) != before
    table[1] -= 1
    assert fingerprint(reads_globals) == before


def test_modules_of_the_users_own_are_read_as_far_as_used():
    before = fingerprint(reads_module)
    own.unused += 1
    assert fingerprint(reads_module) == before
    own.k = 2.0
    assert fingerprint(reads_module) != before


def test_class_attributes_count(monkeypatch):
    bound = Holder(1.0)
    before = fingerprint(bound.rhs)
    assert before == fingerprint(bound.rhs)
    monkeypatch.setattr(Holder, "shared", 2.0)
    assert fingerprint(bound.rhs) != before


def test_cycles_end():
    ring = [1.0]
    ring.append(ring)
    assert fingerprint(closure(ring)) is not None


@pytest.mark.parametrize("value", [threading.Lock(), iter([1.0]), np.random.default_rng(0), (k for k in range(3))])
def test_what_cannot_be_compared_has_no_fingerprint(value):
    assert fingerprint(closure(value)) is None


@pytest.mark.parametrize(
    "value",
    [
        [1.0, [2.0]],
        {"a": [1.0]},
        deque([1.0, 2.0], maxlen=3),
        {1, 2},
        np.ones(3),
        Holder([1.0]),
        Slotted(2.0),
        Point([1.0], 2),
        types.SimpleNamespace(k=[1]),
    ],
)
def test_private_copies_are_equal_but_not_the_same(value):
    copy = private_copy(value, {})
    assert copy is not value
    assert fingerprint(copy) == fingerprint(value)


def test_private_copies_share_nothing_that_changes():
    original = {"inner": [np.zeros(2)], "holder": Holder([1.0])}
    copy = private_copy(original, {})
    copy["inner"][0][0] = 5.0
    copy["holder"].k.append(2.0)
    assert original["inner"][0][0] == 0.0
    assert original["holder"].k == [1.0]
