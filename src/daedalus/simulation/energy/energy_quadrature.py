"""Integrals along a run under error control: Gauss and Kronrod points in every step, halved where they disagree.

A source may move between the steps of a run, which follow the states alone: a resistor on a sine has none at all. So
each step of the dense output, and at least `FEWEST_PANELS` panels over the run, has Kronrod's points; what they differ
by from Gauss' points among them gives the error by the rule of QUADPACK (R. Piessens and others, 1983),

    error = a · min(1, (200 |K - G| / a)^1.5),   a = ∫ |f - mean f|.

A jump that nothing tells of, such as one of a Python function, may hide between the last point of a panel and its end:
there the polynomials of two neighbours, drawn to their common end, must meet, and what they miss each other by counts
for the time between. Panels are halved until the sum of errors is a small share of ∫ |f|, or the budget is spent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.interpolate import BarycentricInterpolator

from daedalus.algebra.rank_decision import EPSILON

# The sum of errors aimed at, as a share of ∫ |f|; errors at the level of rounding are left.
AIM, LEAST_ERROR = 1e-10, 50 * EPSILON
FEWEST_PANELS = 256
# Evaluations beyond the first ones; of a Python function each is a call.
BUDGET, BUDGET_OF_CALLS = 1_000_000, 100_000
# Points that are evaluated at a time.
CHUNK = 1 << 16
# Panels are not halved below this share of the time they lie at.
SHORTEST = 64 * EPSILON

Integrand = Callable[[np.ndarray], np.ndarray]


class Rule(NamedTuple):
    """Kronrod's points on -1 … 1, the weights of both rules, and those that draw the polynomial to the end 1."""

    nodes: np.ndarray
    kronrod: np.ndarray
    gauss: np.ndarray
    to_end: np.ndarray

    @staticmethod
    def of_half(nodes: list[float], kronrod: list[float], gauss: list[float]) -> Rule:
        """The rule from its points in the middle and above; every second one, from the last but one, is Gauss'."""
        whole = np.array([0.0] * len(nodes))
        whole[len(nodes) - 2 :: -2] = gauss[::-1]
        both, inner = (np.concatenate([np.array(own)[:0:-1], own]) for own in (kronrod, whole))
        points = np.concatenate([-np.array(nodes)[:0:-1], nodes])
        to_end = [float(BarycentricInterpolator(points, unit)(1.0)) for unit in np.eye(len(points))]
        return Rule(points, both, inner, np.array(to_end))


# The tables of QUADPACK, from the middle outwards: three points of Gauss in seven, seven in fifteen.
SHORT = Rule.of_half(
    [0.0, 0.434243749346802558, 0.774596669241483377, 0.960491268708020283],
    [0.450916538658474142, 0.401397414775962223, 0.268488089868333441, 0.104656226026467265],
    [0.888888888888888889, 0.555555555555555556],
)
LONG = Rule.of_half(
    [
        0.0, 0.207784955007898468, 0.405845151377397167, 0.586087235467691130, 0.741531185599394440,
        0.864864423359769073, 0.949107912342758525, 0.991455371120812639,
    ],
    [
        0.209482141084727828, 0.204432940075298892, 0.190350578064785410, 0.169004726639267903, 0.140653259715525919,
        0.104790010322250184, 0.063092092629978553, 0.022935322010529225,
    ],
    [0.417959183673469388, 0.381830050505118945, 0.279705391489276668, 0.129484966168869693],
)  # fmt: skip


class Integral(NamedTuple):
    """∫ f dt of each column, and the estimate of its error."""

    value: np.ndarray
    error: np.ndarray

    def __add__(self, other: object) -> Integral:
        assert isinstance(other, Integral)
        return Integral(self.value + other.value, self.error + other.error)


class Panels(NamedTuple):
    """Times between which a rule is applied; `goes_on` where the next one follows in the same step."""

    begin: np.ndarray
    end: np.ndarray
    goes_on: np.ndarray

    def halves(self, chosen: np.ndarray) -> Panels:
        """The halves of some panels, in order."""
        low, high, goes_on = (side[chosen] for side in self)
        middle = 0.5 * (low + high)
        begin, end = np.stack([low, middle], axis=1).ravel(), np.stack([middle, high], axis=1).ravel()
        return Panels(begin, end, np.stack([np.ones(len(low), dtype=bool), goes_on], axis=1).ravel())


class Found(NamedTuple):
    """Integrals, errors and ∫ |f| of panels, and what their polynomials are at both ends, (panels, columns)."""

    value: np.ndarray
    error: np.ndarray
    size: np.ndarray
    first: np.ndarray
    last: np.ndarray


def integral(integrand: Integrand, begin: np.ndarray, end: np.ndarray, budget: int = BUDGET) -> Integral:
    """The integral of the columns of f(times) -> (times, columns) over spans, which may also run backwards.

    Example
    -------
    >>> import numpy as np
    >>> found = integral(lambda t: np.sin(2 * np.pi * 50 * t[:, None]) ** 2, np.array([0.0]), np.array([10.0]))
    >>> bool(abs(found.value[0] - 5.0) <= found.error[0] + 1e-12), bool(found.error[0] < 1e-8)
    (True, True)
    """
    panels, rule = _split(begin, end)
    found = _measured(integrand, panels, rule)
    done = Integral(np.zeros(found.value.shape[1]), np.zeros(found.value.shape[1]))
    aim = AIM * float(found.size.sum())
    left, count = budget, len(panels.begin)
    while len(panels.begin):
        worst = np.sum(found.error, axis=1)
        halved = (worst > aim / (2 * count)) & (worst > LEAST_ERROR * np.sum(found.size, axis=1))
        halved &= np.abs(panels.end - panels.begin) > SHORTEST * np.maximum(np.abs(panels.end), np.abs(panels.begin))
        if float(done.error.sum()) + float(worst.sum()) <= aim:
            halved[:] = False
        halved = _affordable(halved, worst, left // (2 * len(LONG.nodes)))
        kept = ~halved
        done += Integral(found.value[kept].sum(axis=0), found.error[kept].sum(axis=0))
        if not np.any(halved):
            break
        panels = panels.halves(halved)
        found = _measured(integrand, panels, LONG)
        left -= len(panels.begin) * len(LONG.nodes)
        count += int(halved.sum())
    return done


def _split(begin: np.ndarray, end: np.ndarray) -> tuple[Panels, Rule]:
    """The spans in enough panels of about one length that what is faster than the steps is seen, and their rule."""
    moving = begin != end
    begin, end = begin[moving], end[moving]
    if not len(begin) or len(begin) >= FEWEST_PANELS:
        return Panels(begin, end, np.zeros(len(begin), dtype=bool)), SHORT
    lengths = np.abs(end - begin)
    counts = np.ceil(FEWEST_PANELS * lengths / lengths.sum()).astype(int)
    edges = [np.linspace(a, b, n + 1) for a, b, n in zip(begin, end, counts)]
    goes_on = [np.arange(1, n + 1) < n for n in counts]
    low, high = np.concatenate([own[:-1] for own in edges]), np.concatenate([own[1:] for own in edges])
    return Panels(low, high, np.concatenate(goes_on)), LONG


def _affordable(halved: np.ndarray, worst: np.ndarray, most: int) -> np.ndarray:
    """Of the panels to be halved the worst, so many as the budget has room for."""
    places = np.flatnonzero(halved)
    if len(places) <= most:
        return halved
    chosen = np.zeros(len(halved), dtype=bool)
    if most > 0:
        chosen[places[np.argsort(worst[places])[-most:]]] = True
    return chosen


def _measured(integrand: Integrand, panels: Panels, rule: Rule) -> Found:
    """What both rules tell of panels, with the gaps between neighbours of one step."""
    rows = max(1, CHUNK // len(rule.nodes))
    sides = [(panels.begin[k : k + rows], panels.end[k : k + rows]) for k in range(0, max(len(panels.begin), 1), rows)]
    found = Found(*(np.concatenate(column) for column in zip(*(_chunk(integrand, *both, rule) for both in sides))))
    meets = np.flatnonzero(panels.goes_on[:-1] & (panels.end[:-1] == panels.begin[1:]))
    if len(meets):
        gap = np.abs(found.last[meets] - found.first[meets + 1])
        unseen = 0.5 * (1 - rule.nodes[-1]) * np.abs(panels.end - panels.begin)[:, None]
        found.error[meets] += gap * unseen[meets]
        found.error[meets + 1] += gap * unseen[meets + 1]
    return found


def _chunk(integrand: Integrand, begin: np.ndarray, end: np.ndarray, rule: Rule) -> Found:
    half = 0.5 * (end - begin)
    times = 0.5 * (begin + end)[:, None] + half[:, None] * rule.nodes
    f = integrand(times.ravel())
    f = f.reshape(len(begin), len(rule.nodes), f.shape[1])
    whole = np.einsum("k,pkc->pc", rule.kronrod, f)
    length = np.abs(half)[:, None]
    apart = length * np.abs(whole - np.einsum("k,pkc->pc", rule.gauss, f))
    spread = length * np.einsum("k,pkc->pc", rule.kronrod, np.abs(f - 0.5 * whole[:, None, :]))
    size = length * np.einsum("k,pkc->pc", rule.kronrod, np.abs(f))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(spread > 0, spread * np.minimum(1.0, (200 * apart / spread) ** 1.5), apart)
    first, last = (np.einsum("k,pkc->pc", side, f) for side in (rule.to_end[::-1], rule.to_end))
    return Found(half[:, None] * whole, error, size, first, last)
