"""How far the polynomial of a step is off between its ends, on lanes, and which lanes repeat a step because of it.

Explicit steps: the defect p' − f(t, p), as in core/methods/explicit/defect.hpp. Rosenbrock steps: a step of Newton's
method from the polynomial, without what of it belongs to slow components, mends it where stiff and algebraic components
are off, as in core/methods/implicit/look_between.hpp. The ends of steps tell neither.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from daedalus._core import looks_at_defect, shared_numbers
from daedalus.algebra.rank_decision import EPSILON
from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.combinations import horner
from daedalus.ensembles.lanes.kernel_frame import KernelFrame
from daedalus.ensembles.lanes.saved_inside import Polynomials

# Tolerances that values between the steps may be off by, and what is worth mending in units of that.
MOST_BETWEEN = shared_numbers["most_between"]
WORTH_MENDING, WORTH_MENDING_ALONE = shared_numbers["worth_mending"], shared_numbers["worth_mending_alone"]
# A step that is refused because of this error, from one time again, has a smaller one by this factor; so often not, and
# it stands: rounding errors and kinks are no smaller in shorter steps.
WORTH_REFUSING, MOST_IN_VAIN = shared_numbers["worth_refusing"], shared_numbers["most_in_vain"]
# How much of h times a defect of an explicit step may be an error, and how many tolerances that may be.
REACH_OF_DEFECT, MOST_OF_DEFECT = shared_numbers["reach_of_defect"], shared_numbers["most_of_defect"]
MOST_CHECKS, BESIDE_MIDDLE, PLACES = int(shared_numbers["most_checks"]), shared_numbers["beside_middle"], 1000
# Below so many last digits of the largest unknown nothing is told.
COARSE_NOISE = shared_numbers["coarse_digits"] * EPSILON


class BetweenNodes(NamedTuple):
    """Where a polynomial is looked at and mended, where it is checked, and the powers that are 1 at one look each."""

    looks: tuple[float, ...]
    checks: tuple[float, ...]
    basis: tuple[tuple[float, ...], ...]


@functools.cache
def between_nodes(degree: int) -> BetweenNodes:
    """The looks at a polynomial of a degree that is right at its ends: Leja's points, as in the core."""
    room, grid = degree - 1, np.arange(1, PLACES) / PLACES
    places = [0.0, 1.0]
    for _ in range(room + MOST_CHECKS):
        product = np.abs(np.prod(grid[:, None] - np.array(places), axis=1))
        places.append(BESIDE_MIDDLE if len(places) == 2 else float(grid[np.argmax(product)]))
    looks, checks = places[2 : 2 + room], places[2 + room :]
    basis = []
    for look in looks:
        others = [place for place in [0.0, 1.0, *looks] if place != look]
        powers = np.polynomial.polynomial.polyfromroots(others)
        basis.append(tuple((powers / np.polynomial.polynomial.polyval(look, powers)).tolist()))
    return BetweenNodes(tuple(looks), tuple(checks), tuple(basis))


class RefusedSteps:
    """Which lanes refuse a step because of what lies between its ends, and which have done so in vain."""

    def __init__(self, frame: KernelFrame) -> None:
        self.frame = frame
        self.time, self.error, self.in_vain = frame.cells(3)

    def counted(self, mask: Word, error: Word) -> Word:
        """The error in lanes of a mask; 0 where it is no number, and where a shorter step would not help."""
        w, zero = self.frame.w, self.frame.w.num(0.0)
        error = w.choose(w.both(mask, w.compare("olt", error, w.num(float("inf")))), error, zero)
        beyond = w.compare("ogt", error, w.num(1.0))
        found = w.cell()
        found.set(error)
        with w.when(w.any(beyond), rarely=True):
            smaller = w.compare("olt", error, w.mul(w.num(WORTH_REFUSING), self.error.now))
            helps = w.either(w.compare("une", self.time.now, self.frame.t.now), smaller)
            self.in_vain.set_where(beyond, w.choose(helps, zero, w.add(self.in_vain.now, w.num(1.0))))
            self.time.set_where(beyond, self.frame.t.now)
            self.error.set_where(beyond, error)
            vain = w.compare("oge", self.in_vain.now, w.num(MOST_IN_VAIN))
            found.set_where(w.both(beyond, vain), zero)
        return found.now


def error_of_defect(
    frame: KernelFrame, t: Word, h: Word, polynomials: Polynomials, scales: Sequence[Word], rare: bool
) -> Word:
    """The error between the ends of explicit steps, in units of what is allowed; scales: one over the tolerances."""
    w, largest = frame.w, frame.w.num(0.0)
    for theta in looks_at_defect:
        at = w.num(theta)
        slopes = frame.slope(w.fma(at, h, t), [horner(w, c, at) for c in polynomials], rare=rare)
        for c, slope, scale in zip(polynomials, slopes, scales):
            defect = w.sub(horner(w, _derivative(frame, c), at), w.mul(h, slope))
            off = w.mul(w.abs(defect), w.mul(scale, w.num(REACH_OF_DEFECT / MOST_OF_DEFECT)))
            # What is no number stays none.
            largest = w.choose(w.compare("ole", off, largest), largest, off)
    return largest


class MendedPolynomials:
    """The polynomials of a Rosenbrock step, in cells: mended in lanes where that makes them better.

    correct(t, rate, row) gives how far stiff and algebraic components are off at a place.
    """

    def __init__(
        self, frame: KernelFrame, t: Word, h: Word, written: Polynomials, scales: Sequence[Word], differential: int,
        correct: Callable[[Word, list[Word], list[Word]], list[Word]],
    ) -> None:  # fmt: skip
        self.frame, self.t, self.h, self.scales = frame, t, h, scales
        self.per_h = frame.w.div(frame.w.num(1.0), h)
        self._differential, self._correct = differential, correct
        self._cells = [[frame.w.cell() for _ in words] for words in written]
        for cells, words in zip(self._cells, written):
            for cell, word in zip(cells, words):
                cell.set(word)

    def now(self) -> Polynomials:
        """The coefficients."""
        return [[cell.now for cell in cells] for cells in self._cells]

    def mend(self, mask: Word) -> Word:
        """Mends where that helps in lanes of a mask; gives the error of what stands, in units of what is allowed."""
        w, nodes, plain = self.frame.w, between_nodes(len(self._cells[0]) - 1), self.now()
        error = w.cell()
        first = self._look(nodes.looks[0], plain)
        at_first = self._largest(first)
        error.set(w.choose(w.compare("ogt", at_first, self._noise(plain)), at_first, w.num(0.0)))
        worth = w.both(mask, w.compare("ogt", error.now, w.num(WORTH_MENDING)))
        with w.when(w.any(worth)):
            offs = [first, *(self._look(theta, plain) for theta in nodes.looks[1:])]
            mended = self._mended(plain, offs, nodes)
            before, after = (
                functools.reduce(w.larger, map(self._largest, found))
                for found in (offs, [self._look(theta, mended) for theta in nodes.checks])
            )
            better = w.both(worth, w.compare("olt", after, before))
            error.set_where(worth, w.choose(better, after, before))
            for cells, words in zip(self._cells, mended):
                for cell, word in zip(cells[1:], words[1:]):
                    cell.set_where(better, word)
        return error.now

    def _mended(self, plain: Polynomials, offs: list[list[Word]], nodes: BetweenNodes) -> Polynomials:
        """Without what components are off by at the looks, those that are off at all."""
        w, found = self.frame.w, []
        for i, (column, scale) in enumerate(zip(plain, self.scales)):
            off = [at_look[i] for at_look in offs]
            share = w.mul(functools.reduce(w.larger, map(w.abs, off)), w.mul(scale, w.num(1 / MOST_BETWEEN)))
            alone = w.compare("ogt", share, w.num(WORTH_MENDING_ALONE))
            off = [w.choose(alone, word, w.num(0.0)) for word in off]
            powers = [column[0]]
            for j in range(1, len(column)):
                total = column[j]
                for word, basis in zip(off, nodes.basis):
                    total = w.fma(word, w.num(-basis[j]), total)
                powers.append(total)
            found.append(powers)
        return found

    def _look(self, theta: float, polynomials: Polynomials) -> list[Word]:
        """How far stiff and algebraic components are off at θ."""
        w, at = self.frame.w, self.frame.w.num(theta)
        row = [horner(w, c, at) for c in polynomials]
        slopes = [horner(w, _derivative(self.frame, c), at) for c in polynomials[: self._differential]]
        return self._correct(w.fma(at, self.h, self.t), [w.mul(self.per_h, slope) for slope in slopes], row)

    def _largest(self, off: list[Word]) -> Word:
        w, largest = self.frame.w, self.frame.w.num(0.0)
        for word, scale in zip(off, self.scales):
            here = w.mul(w.abs(word), w.mul(scale, w.num(1 / MOST_BETWEEN)))
            largest = w.choose(w.compare("ole", here, largest), largest, here)
        return largest

    def _noise(self, plain: Polynomials) -> Word:
        """Rounding errors at first sight: of the largest unknown, in the smallest tolerance."""
        w = self.frame.w
        size = functools.reduce(w.larger, [w.abs(column[0]) for column in plain])
        return w.mul(w.mul(size, functools.reduce(w.larger, self.scales)), w.num(COARSE_NOISE / MOST_BETWEEN))


def _derivative(frame: KernelFrame, coefficients: Sequence[Word]) -> list[Word]:
    """The coefficients of the derivative by θ."""
    return [frame.w.mul(frame.w.num(float(j)), c) for j, c in enumerate(coefficients) if j]
