"""Which shapes press on each other and which of them slide, moment by moment, and when that changes.

Frictions and stops beside the contacts are located with them; their own events tell about them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.simulation.result.ending import time_text
from daedalus.simulation.result.event_records import ContactChange, TransitionKind
from daedalus.simulation.touching.single_laws import SingleLaws, is_law
from daedalus.simulation.touching.touching_bodies import TouchingBodies

# More changes than this in a hundredth of a run are no longer located.
CROWD = 100

# A law and two shapes; and whether they slide.
Pair = tuple[int, int, int]
Modes = Mapping[Pair, bool]


def modes_of(points: np.ndarray, friction: np.ndarray) -> dict[Pair, bool]:
    """The pairs that press, by their points: (law, shapes, place, normal, force, …) in each row.

    A pair slides where every point of it is on its cone: with one point below, the pair holds.
    """
    found: dict[Pair, bool] = {}
    if not len(points):
        return found
    along = np.sum(points[:, 6:9] * points[:, 9:12], axis=1)
    across = np.linalg.norm(points[:, 9:12] - along[:, None] * points[:, 6:9], axis=1)
    limit = friction[points[:, 0].astype(int)] * along
    below = (across < limit * (1 - KNOWN_BY_DIFFERENCES)) | (limit == 0)
    pairs, which = np.unique(points[:, :3].astype(int), axis=0, return_inverse=True)
    normal = np.bincount(which.ravel(), along)
    holding = np.bincount(which.ravel(), below)
    for k, pair in enumerate(pairs.tolist()):
        if normal[k] > KNOWN_BY_DIFFERENCES * normal.max():
            found[pair[0], pair[1], pair[2]] = not holding[k]
    return found


class ContactModes:
    """The pairs that press on the way of a run, and what has changed among them."""

    def __init__(self, bodies: TouchingBodies, span: float, beside: SingleLaws | None = None) -> None:
        self.bodies, self.friction, self.span, self.beside = bodies, bodies.laws[:, 0], span, beside
        self.now: dict[Pair, bool] | None = None
        self.changes: list[ContactChange] = []
        self._moments = list[float]()  # of all changes
        self.located, self.crowded = True, ""

    def name(self, pair: Pair) -> str:
        """How the contact of a pair is called, or a friction or stop."""
        if is_law(pair) and self.beside is not None:
            return self.beside.laws.names[pair[1]]
        contact = self.bodies.contacts[pair[0]]
        if not contact.of_all:
            return contact.name
        owners = [self.bodies.shapes[k].body for k in pair[1:]]
        first, second = sorted(owners, key=lambda name: self.bodies.index.get(name, len(self.bodies.names)))
        return f"{first}_{second or 'ground'}"

    def strike(self, pairs: set[Pair], fast: set[Pair], t: float, before: np.ndarray, after: np.ndarray) -> None:
        """An impact of some pairs: those that did not press close, and those of which another point approached fast."""
        for pair in sorted(pairs - (set(self.now or {}) - fast)):
            self._tell(pair, TransitionKind.CLOSES, t, before, after)

    def become(self, then: dict[Pair, bool], t: float, row: np.ndarray, struck: set[Pair]) -> None:
        """What presses from a moment on; struck: pairs that an impact has closed there."""
        for pair in sorted({*then, *self.now} if self.now is not None else ()):
            kind = self._kind(pair, then, pair in struck)
            if kind is not None:
                self._tell(pair, kind, t, row, row)
        self.now = then

    def _tell(self, pair: Pair, kind: TransitionKind, t: float, before: np.ndarray, after: np.ndarray) -> None:
        if not is_law(pair):
            self.changes.append(ContactChange(self.name(pair), kind, t, before, after))
        self._moments.append(t)
        recent = self._moments[-CROWD:]
        if self.located and len(recent) == CROWD and t - recent[0] < 0.01 * self.span:
            self.located = False
            self.crowded = f"stick and slip are located up to {time_text(t)}, where more than {CROWD} changes crowd"

    def _kind(self, pair: Pair, then: Modes, struck: bool) -> TransitionKind | None:
        assert self.now is not None
        if pair not in self.now:
            return None if struck else TransitionKind.CLOSES
        if pair not in then:
            return TransitionKind.OPENS
        if self.now[pair] == then[pair]:
            return None
        return TransitionKind.SLIPS if then[pair] else TransitionKind.STICKS

    @property
    def count(self) -> int:
        """How many changes there were."""
        return len(self._moments)

    # -- when they change --------------------------------------------------------------------------------------

    def stays(self, then: Modes) -> bool:
        """Whether what presses now presses in the same way in other modes; what closes is located by its gap."""
        return self.now is None or all(then.get(pair) == slides for pair, slides in self.now.items())

    def until(self, h: float, close: float, behind: Callable[[float], dict[Pair, bool]]) -> tuple[float, float]:
        """Lengths of a step, close to each other: with the first all pairs go on as they are, with the second not."""
        low, high = 0.0, h
        while high - low > close:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.stays(behind(middle)) else (low, middle)
        return low, high
