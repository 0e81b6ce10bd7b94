"""The interpolants of explicit Runge–Kutta methods on lanes.

Cubic Hermite, plus what a method has of its own, or raised one degree at a time by slopes on the interpolant before
(W. Enright, K. Jackson, S. Nørsett, P. Thomsen, ACM Transactions on Mathematical Software 12, 1986).
"""

from __future__ import annotations

import math

from daedalus.compilation.lanes.elementary import rough_exp, rough_log
from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.combinations import combined, horner, weighted
from daedalus.ensembles.lanes.explicit_numbers import ExplicitNumbers, Raised
from daedalus.ensembles.lanes.judged_between import error_of_defect
from daedalus.ensembles.lanes.kernel_frame import KernelFrame
from daedalus.ensembles.lanes.saved_inside import Polynomials, SavedInside

# A step whose interpolant is not good enough is made anew in parts, by its error as if they were a little longer.
LONGER, MOST_PIECES = 1.3, 64.0


class DenseRows(SavedInside):
    """The interpolant of one step, made where a lane has to save inside it."""

    def __init__(
        self, frame: KernelFrame, numbers: ExplicitNumbers, t: Word, t_new: Word, x: list[Word], x_new: list[Word],
        slopes: list[list[Word]], often: bool = False,
    ) -> None:  # fmt: skip
        # often: it is made in every step, so that what it calls is put in.
        super().__init__(frame, t, t_new)
        self._rare = not often
        self.numbers, self.x, self.x_new, self.slopes = numbers, x, x_new, slopes

    def save_judged(self, good: Word, scales: list[Word]) -> None:
        """Lanes of a good step save the rows that lie inside it: in parts of it where its interpolant is off.

        scales: one over the tolerances.
        """
        frame, w = self.frame, self.frame.w
        if not frame.inside:
            return
        due = self.is_due(good)
        with w.when(w.any(due)):
            kept = self.keep()
            error = error_of_defect(frame, self.t, self.h, kept, scales, self._rare)
            finite = w.compare("olt", error, w.num(math.inf))
            self._save_in_parts(w.both(w.both(due, finite), w.compare("ogt", error, w.num(1.0))), error)
            self.save_inside(good)

    def _save_in_parts(self, mask: Word, error: Word) -> None:
        """Lanes of a mask make the step anew in parts, and save on them; the step itself stays as it was."""
        frame, w, numbers = self.frame, self.frame.w, self.numbers
        with w.when(w.any(mask), rarely=True):
            root = rough_exp(w, w.mul(rough_log(w, error), w.num(1.0 / (numbers.degree + 1))))
            parts = w.smaller(w.own("ceil", w.mul(root, w.num(LONGER))), w.num(MOST_PIECES))
            (part,) = frame.cells(1)
            begin = [w.cell() for _ in self.x]
            for cell, word in zip(begin, self.x):
                cell.set(word)

            def left() -> Word:
                return w.both(mask, w.compare("olt", part.now, parts))

            with w.repeat(lambda: w.any(left())):
                going, length = left(), w.div(self.h, parts)
                following = w.add(part.now, w.num(1.0))
                last = w.compare("oge", following, parts)
                t, x = w.fma(part.now, length, self.t), [cell.now for cell in begin]
                t_new = w.choose(last, self.t_new, w.fma(following, length, self.t))
                h = w.sub(t_new, t)
                slopes = [frame.slope(t, x, rare=True)]
                for i in range(1, numbers.inner):
                    stage = combined(w, x, h, numbers.a[i], slopes)
                    slopes.append(frame.slope(w.fma(w.num(numbers.c[i]), h, t), stage, rare=True))
                end = combined(w, x, h, numbers.a[numbers.inner], slopes)
                x_new = [w.choose(last, a, b) for a, b in zip(self.x_new, end)]
                DenseRows(frame, numbers, t, t_new, x, x_new, slopes).save_inside(going)
                for cell, word in zip(begin, x_new):
                    cell.set(word)
                part.set(following)

    def _coefficients(self) -> Polynomials:
        frame, numbers = self.frame, self.numbers
        slopes = list(self.slopes)
        if len(slopes) == numbers.inner:
            slopes.append(frame.slope(self.t_new, self.x_new, rare=self._rare))
        found = [self._cubic(i, slopes) for i in range(len(self.x))]
        if numbers.dense:
            return self._with_own(found, slopes)
        for raised in numbers.raised:
            found = self._raised(found, raised, slopes)
        return found

    def _cubic(self, i: int, slopes: list[list[Word]]) -> list[Word]:
        w = self.frame.w
        change = w.sub(self.x_new[i], self.x[i])
        first, last = w.mul(self.h, slopes[0][i]), w.mul(self.h, slopes[self.numbers.inner][i])
        second = w.sub(w.sub(w.mul(w.num(3.0), change), w.mul(w.num(2.0), first)), last)
        third = w.sub(w.add(first, last), w.mul(w.num(2.0), change))
        return [self.x[i], first, second, third]

    def _with_own(self, cubic: Polynomials, slopes: list[list[Word]]) -> Polynomials:
        """A bump θ² (1 − θ)² b, or four upper parts as in Hairer, Nørsett, Wanner, II.10, multiplied out."""
        frame, w, numbers = self.frame, self.frame.w, self.numbers
        for row in range(numbers.inner + 1, len(numbers.a)):
            stage = combined(w, self.x, self.h, numbers.a[row], slopes)
            slopes.append(frame.slope(w.fma(w.num(numbers.c[row]), self.h, self.t), stage, rare=self._rare))
        found = []
        for i, (c0, c1, c2, c3) in enumerate(cubic):
            parts = [w.mul(self.h, weighted(w, row, [k[i] for k in slopes])) for row in numbers.dense]
            if len(parts) == 1:
                bump = parts[0]
                found.append([c0, c1, w.add(c2, bump), w.fma(w.num(-2.0), bump, c3), bump])
                continue
            f3, f4, f5, f6 = parts
            third = w.add(c3, w.fma(w.num(-2.0), f3, w.add(f4, f5)))
            fourth = w.add(w.fma(w.num(-2.0), f4, f3), w.fma(w.num(-3.0), f5, f6))
            fifth = w.fma(w.num(-3.0), f6, w.fma(w.num(3.0), f5, f4))
            sixth = w.fma(w.num(3.0), f6, w.neg(f5))
            found.append([c0, c1, w.add(c2, f3), third, fourth, fifth, sixth, w.neg(f6)])
        return found

    def _raised(self, before: Polynomials, raised: Raised, slopes: list[list[Word]]) -> Polynomials:
        """One degree more: slopes on the present interpolant at the nodes, then the polynomial through all of them."""
        frame, w, inner = self.frame, self.frame.w, self.numbers.inner
        at_nodes = []
        for node in raised.nodes:
            point = [horner(w, c, w.num(node)) for c in before]
            at_nodes.append(frame.slope(w.fma(w.num(node), self.h, self.t), point, rare=self._rare))
        found = []
        for i in range(len(self.x)):
            change = w.sub(self.x_new[i], self.x[i])
            known = [slopes[0][i], slopes[inner][i], *(k[i] for k in at_nodes)]
            column = [self.x[i]]
            for weights in raised.weights:
                total = w.mul(w.num(weights[0]), change)
                for weight, k in zip(weights[1:], known):
                    total = w.fma(w.mul(self.h, w.num(weight)), k, total)
                column.append(total)
            found.append(column)
        return found
