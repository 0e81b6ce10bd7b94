"""The rows of dry frictions and stops in one step, or in an impact: their targets and the limits of their impulses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.simulation.touching.closing import closing_time
from daedalus.simulation.touching.lengths import NEAR, NEAR_SPEED, Lengths
from daedalus.simulation.touching.single_laws import STOP, LawsAtPlace, SingleLaws


@dataclass
class SingleInStep:
    """Rows of laws at a place, with a rate each shall have and the limits of its impulse."""

    laws: SingleLaws
    at: LawsAtPlace
    target: np.ndarray
    low: np.ndarray
    high: np.ndarray
    kinetic: np.ndarray  # the limit of an impulse once it slides
    open: tuple[np.ndarray, np.ndarray]  # gaps and rates at the beginning of stops that may close

    @staticmethod
    def of(
        laws: SingleLaws, at: LawsAtPlace, start: LawsAtPlace, h: float, lengths: Lengths,
        pushed: frozenset[int], located: bool, moment: bool,
    ) -> SingleInStep:  # fmt: skip
        """The rows of a step; located: stops that are open at its beginning stay out, and are told.

        moment: of a very short step, in which what rests or goes on keeps its small rate.
        """
        friction, rests = laws.is_friction, np.abs(start.rate) <= lengths.slow
        high = np.where(friction, h * np.where(rests, at.static, at.kinetic), np.inf)
        low = np.where(friction, -high, 0.0)
        near = start.gap <= NEAR * lengths.size
        bouncing = (start.rate < -lengths.bounce) & (at.restitution > 0)
        goes_on = near & (start.rate > -NEAR_SPEED * lengths.pull * h) & ~bouncing
        goes_on &= [k in pushed for k in range(len(friction))]
        closed = friction | (start.gap <= lengths.touch) | (near & (start.rate > -lengths.slow)) | goes_on
        gap = np.where(near, np.minimum(at.gap, np.maximum(start.gap, 0.0)), at.gap)
        target = np.where(friction, 0.0, -2 * np.maximum(gap - lengths.touch, 0.0) / h)
        if moment:
            closed &= friction | (start.rate > -lengths.slow) | goes_on  # what approaches strikes
            target = np.where(rests | (goes_on & ~friction), start.rate, target)
        if not located:
            closed[:] = True
        high = np.where(closed, high, 0.0)
        ahead_of = ~closed
        return SingleInStep(laws, at, target, low, high, h * at.kinetic, (start.gap[ahead_of], start.rate[ahead_of]))

    @staticmethod
    def outwards(laws: SingleLaws, at: LawsAtPlace) -> SingleInStep:
        """The rows that take positions back behind stops."""
        stops = ~laws.is_friction
        still = at._replace(offset=np.zeros(len(stops)))
        high = np.where(stops, np.inf, 0.0)
        return SingleInStep(
            laws, still, -at.gap, np.zeros(len(stops)), high, np.zeros(len(high)), (at.gap[:0], at.gap[:0])
        )

    @staticmethod
    def struck(laws: SingleLaws, at: LawsAtPlace, closed: np.ndarray, bounds: np.ndarray) -> SingleInStep:
        """The rows of an impact: frictions give no impulse, and closed stops have the rates of some bounds."""
        target, high = np.zeros(len(at.gap)), np.zeros(len(at.gap))
        acts = np.isfinite(bounds)
        target[closed[acts]], high[closed[acts]] = bounds[acts], np.inf
        return SingleInStep(laws, at, target, np.zeros(len(high)), high, np.zeros(len(high)), (at.gap[:0], at.gap[:0]))

    def write(self, world: Any) -> None:
        """Put the rows behind those of joints."""
        ranges = np.column_stack([self.target - self.at.offset, self.low, self.high])
        world.limits(np.ascontiguousarray(self.at.rows), np.ascontiguousarray(self.at.moves), ranges)

    def slipped(self, world: Any) -> bool:
        """Whether frictions that rested have reached their static limit: from then on the kinetic one holds."""
        impulse = np.abs(world.link_impulses()[-len(self.low) :])
        slips = self.laws.is_friction & (self.high > self.kinetic) & (impulse >= self.high * (1 - KNOWN_BY_DIFFERENCES))
        self.high = np.where(slips, self.kinetic, self.high)
        self.low = np.where(slips, -self.kinetic, self.low)
        return bool(slips.any())

    def pressing(self, impulse: np.ndarray) -> dict[tuple[int, int, int], bool]:
        """The frictions, and whether each slides: its impulse is at its limit; and the stops that press."""
        found = {}
        for k, friction in enumerate(self.laws.is_friction):
            if friction:
                found[STOP, k, k] = bool(abs(impulse[k]) >= self.high[k] * (1 - KNOWN_BY_DIFFERENCES))
            elif impulse[k] > 0:
                found[STOP, k, k] = False
        return found

    def closing(self, rate: np.ndarray, h: float, touch: float) -> tuple[float, float]:
        """When the first of the open stops closes, with its gap at the end of the step."""
        gap, speed = self.open
        if not len(gap):
            return np.inf, np.inf
        return closing_time(gap, speed, rate[(self.high == 0) & ~self.laws.is_friction], h, touch)
