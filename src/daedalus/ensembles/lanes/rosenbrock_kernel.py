"""Kernels of Rosenbrock methods: stiff systems and index 1, steps that adapt in every lane on its own.

(∂F/∂x' / (h γ) + ∂F/∂y) k_i = −F(t + α_i h, v_i, y + Σ_j a_ij k_j) − h γ_i ∂F/∂t,    y = (x, z)
v_i = −(1/h) Σ_j c_ij k_j (its states),    y_new = y + Σ_j m_j k_j

as in core/methods/rosenbrock/rosenbrock.hpp, the matrix eliminated without loops. ∂F/∂x' = M is constant, so that F is
M v_i and F at x' = 0. A lane in which the order of the pivots does not suit, or whose start is not found at once, is
left to the scalar core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from daedalus._core import shared_numbers
from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.combinations import weighted
from daedalus.ensembles.lanes.implicit_lane_model import ImplicitLaneModel
from daedalus.ensembles.lanes.judged_between import MendedPolynomials, RefusedSteps
from daedalus.ensembles.lanes.kernel_frame import SHARE_OF_TOLERANCE, SURE_DIGITS, KernelFrame
from daedalus.ensembles.lanes.rosenbrock_control import RosenbrockControl
from daedalus.ensembles.lanes.saved_inside import Polynomials, SavedInside
from daedalus.ensembles.lanes.settled_rows import SettledRows
from daedalus.ensembles.lanes.straight_elimination import StraightFactors
from daedalus.integrators.tableaux.rosenbrock_coefficients import RosenbrockCoefficients, rosenbrock_coefficients

# Of core/methods/implicit/look_inside.hpp.
MOST_INSIDE, ABOVE_ROUNDING = shared_numbers["most_inside"], shared_numbers["above_rounding"]
SHORTEST_LOOKED_INTO = shared_numbers["shortest_looked_into"]


def rosenbrock_kernel(model: ImplicitLaneModel, method: str, lanes: int, gpu: bool = False, inside: bool = True) -> str:
    """The text of a kernel by the name of a method; inside: rows may be saved inside a step."""
    frame = KernelFrame(model, lanes, gpu, inside)
    step = _RosenbrockStep(frame, model, rosenbrock_coefficients(method))
    with frame.loop():
        step.begin_fresh()
        step.take()
    return frame.text()


class _RowAt(NamedTuple):
    """A place of a run: its time, x and z, and what writes x' where that is asked for."""

    t: Word
    y: list[Word]
    rate: Callable[[], list[Word]]


class _RosenbrockStep:
    """One step of all lanes."""

    def __init__(self, frame: KernelFrame, model: ImplicitLaneModel, numbers: RosenbrockCoefficients) -> None:
        self.frame, self.model, self.numbers = frame, model, numbers
        self.control = RosenbrockControl(frame, numbers.order)
        self.rows = SettledRows(frame, model)
        self.factors: StraightFactors | None = None
        self.masses: dict[tuple[int, int], Word] = {}
        self.refused = RefusedSteps(frame) if frame.inside else None
        # What is left out inside a step shows in equations with time in them.
        self.looks_inside = not model.autonomous and len(numbers.powers) + 1 >= numbers.order

    def begin_fresh(self) -> None:
        """New cases: their first row and step."""
        frame, w, n, m = self.frame, self.frame.w, self.model.differential, self.model.unknowns
        with w.when(w.any(frame.fresh.now), rarely=True):
            fresh = w.both(frame.fresh.now, frame.running())
            self.rows.begin(fresh)
            frame.save_now(frame.fresh.now)
            row = frame.now()
            self.control.forget(fresh)
            self.control.first(fresh, row[:n], row[m:])
        # From here on x' is read where a row is saved or settled only, and written there: no step carries it along.
        for cell in frame.x[m:]:
            cell.set(w.num(0.0))

    def take(self) -> None:
        """A step, judged; then all that follows from it."""
        frame, w, m = self.frame, self.frame.w, self.model.unknowns
        t, y = frame.t.now, frame.now()[:m]
        t_new, reaches = self.control.plan()
        h = w.sub(t_new, t)
        per_h = w.div(w.num(1.0), h)
        self.control.begin_step(h)
        ks, end, sound = self._stages(t, y, t_new, h, per_h)
        running = frame.running()
        unsound = w.both(running, w.unless(sound))
        running = w.both(running, sound)
        scales = self._scales(y, end.y)
        # What is no number in a stage is none in its k, and in the last one, which the error has a share of.
        square = self._square(scales, [self._sum(self.numbers.error.tolist(), ks, i) for i in range(m)])
        rows = None
        if self.refused is not None:
            rows = _RosenbrockRows(frame, t, t_new, y, ks, self.numbers, self.model)
            square = self._with_between(self.refused, square, rows, running, scales)
        elif self.looks_inside:
            square = self._with_inside(square, t, y, end, h, ks, scales)
        good = self.control.judge(square, h, per_h, running, reaches, unsound)
        if rows is not None:
            rows.save_inside(good)
        self._complete(good, end)

    # -- stages ------------------------------------------------------------------------------------------------------

    def _stages(
        self, t: Word, y: list[Word], t_new: Word, h: Word, per_h: Word
    ) -> tuple[list[list[Word]], _RowAt, Word]:
        """k_i, the end of the step from y at t, and the lanes in which the linear systems are solved well."""
        frame, w, model, numbers = self.frame, self.frame.w, self.model, self.numbers
        u, p = frame.inputs(t), frame.parameters()
        first, rates, unknowns, drift = model.at(w, "model.linearised", t, y, u, p, frame.input_slopes())
        factor = w.mul(per_h, w.num(1.0 / numbers.gamma[0]))
        entries = dict(zip(model.pattern.unknowns, unknowns))
        for place, word in zip(model.pattern.rates, rates):
            entries[place] = w.fma(factor, word, entries[place]) if place in entries else w.mul(factor, word)
        self.factors = factors = StraightFactors(w, model.pattern.of_steps, entries)
        masses = {place: w.mul(per_h, word) for place, word in zip(model.pattern.rates, rates)}
        self.masses = {place: w.mul(factor, word) for place, word in zip(model.pattern.rates, rates)}
        ks: list[list[Word]] = []
        stage, sums, sound = y, list[Word](), ""
        for i, (alpha, gamma) in enumerate(zip(numbers.alpha, numbers.gamma)):
            if i:
                stage = self._stage(i, y, stage, ks)
                time = t_new if alpha == 1 else w.fma(w.num(alpha), h, t)
                (first,) = model.at(w, "model.still", time, stage, frame.inputs(time), p)
                sums = [self._sum(numbers.c[i], ks, k) for k in range(model.differential)]
            right = [w.neg(f) for f in first]
            for (row, k), mass in masses.items() if i else ():
                right[row] = w.fma(mass, sums[k], right[row])
            if gamma and not model.autonomous:
                part = w.neg(w.mul(h, w.num(gamma)))
                right = [w.fma(part, d, r) for d, r in zip(drift, right)]
            ks.append(factors.solve(right))
            if not i:
                sound = self._sound(right, ks[0])
        # Stiffly accurate: the end is the last stage and its k.
        y_new = [w.add(a, k) for a, k in zip(stage, ks[-1])]

        def rate() -> list[Word]:
            totals = [self._sum(numbers.c[-1], ks, k) for k in range(model.differential)]
            return [w.fma(factor, k, w.neg(w.mul(per_h, total))) for k, total in zip(ks[-1], totals)]

        return ks, _RowAt(t_new, y_new, rate), sound

    def _stage(self, i: int, y: list[Word], before: list[Word], ks: list[list[Word]]) -> list[Word]:
        """y + Σ_j a_ij k_j; from the stage before where that is one k more."""
        w, a = self.frame.w, self.numbers.a
        if i > 1 and a[i, i - 1] == 1 and np.array_equal(a[i, : i - 1], a[i - 1, : i - 1]):
            return [w.add(value, k) for value, k in zip(before, ks[-1])]
        out = list(y)
        for weight, k in zip(a[i], ks):
            if weight:
                out = [w.fma(w.num(weight), kj, total) for kj, total in zip(k, out)]
        return out

    def _sum(self, weights: Sequence[float], ks: list[list[Word]], k: int) -> Word:
        return weighted(self.frame.w, weights, [stage[k] for stage in ks])

    def _sound(self, right: list[Word], found: list[Word]) -> Word:
        """Where the first solve has a small backward error; what is not finite is for a shorter step to mend."""
        frame, w = self.frame, self.frame.w
        assert self.factors is not None
        allowed = w.smaller(w.mul(frame.settings["rtol"], w.num(SHARE_OF_TOLERANCE)), w.num(SURE_DIGITS))
        sound = w.cell(w.truth)
        sound.set(self.factors.is_sound(right, found, allowed))
        with w.when(w.any(w.unless(sound.now)), rarely=True):
            sound.set(w.either(sound.now, w.unless(frame.finite(right))))
        return sound.now

    # -- errors ------------------------------------------------------------------------------------------------------

    def _scales(self, y: list[Word], y_new: list[Word]) -> list[Word]:
        return [self.control.rough_scale(a, b, atol) for a, b, atol in zip(y, y_new, self.frame.atol)]

    def _square(self, scales: list[Word], values: list[Word]) -> Word:
        """The mean square in units of the tolerance."""
        w, total = self.frame.w, self.frame.w.num(0.0)
        for value, scale in zip(values, scales):
            part = w.mul(value, scale)
            total = w.fma(part, part, total)
        return w.mul(total, w.num(1.0 / len(scales)))

    def _correction(self, at: _RowAt, scales: list[Word]) -> Word:
        """The length of a step of Newton's method from a place, in units of what is allowed inside a step, squared."""
        frame, w = self.frame, self.frame.w
        assert self.factors is not None
        rate, given = at.rate(), (frame.inputs(at.t), frame.parameters())
        (found,) = self.model.at(w, "model.residual", at.t, at.y, *given, rate=rate)
        return w.mul(self._square(scales, self.factors.solve(found)), w.num(1.0 / MOST_INSIDE**2))

    def _with_inside(
        self, square: Word, t: Word, y: list[Word], end: _RowAt, h: Word, ks: list[list[Word]], scales: list[Word]
    ) -> Word:
        """The error, or how far the middle of the dense output is from the solution where that is more, squared."""
        w, powers = self.frame.w, self.numbers.powers
        parts = 0.5 ** np.arange(len(powers))
        middle = 0.5 * parts @ powers
        slope = (np.arange(1, len(powers) + 1) * parts) @ powers
        there = [w.add(a, self._sum(middle, ks, k)) for k, a in enumerate(y)]
        per_h = w.div(w.num(1.0), h)
        rate = [w.mul(per_h, self._sum(slope, ks, k)) for k in range(self.model.differential)]
        inside = self._correction(_RowAt(w.fma(w.num(0.5), h, t), there, lambda: rate), scales)
        at_end = w.mul(self._correction(end, scales), w.num(ABOVE_ROUNDING**2))
        counts = w.compare("oge", w.abs(h), w.mul(self.control.usual.now, w.num(SHORTEST_LOOKED_INTO)))
        far = w.both(w.compare("ogt", inside, w.num(1.0)), w.compare("olt", inside, w.num(float("inf"))))
        counts = w.both(counts, w.unless(w.both(far, w.compare("olt", inside, at_end))))
        counts = w.both(counts, w.compare("olt", inside, w.num(float("inf"))))
        counts = w.both(counts, w.compare("olt", square, w.num(1.0)))
        return w.choose(w.both(counts, w.compare("ogt", inside, square)), inside, square)

    def _with_between(
        self, refused: RefusedSteps, square: Word, rows: _RosenbrockRows, running: Word, scales: list[Word]
    ) -> Word:
        """The error, or that of the rows between the ends of the step, mended, where that is more, squared."""
        w = self.frame.w
        counts = w.both(running, w.compare("olt", square, w.num(1.0)))
        usual = w.mul(self.control.usual.now, w.num(SHORTEST_LOOKED_INTO))
        counts = w.both(counts, w.compare("oge", w.abs(rows.h), usual))
        error = refused.counted(counts, rows.mend(counts, scales, self._correct_stiff))
        between = w.mul(error, error)
        return w.choose(w.compare("ogt", between, square), between, square)

    def _correct_stiff(self, t: Word, rate: list[Word], y: list[Word]) -> list[Word]:
        """What of a step of Newton's method from a place belongs to stiff and algebraic components."""
        frame, w = self.frame, self.frame.w
        assert self.factors is not None
        (found,) = self.model.at(w, "model.residual", t, y, frame.inputs(t), frame.parameters(), rate=rate)
        whole = self.factors.solve(found)
        right = [w.num(0.0)] * len(whole)
        for (row, k), mass in self.masses.items():
            right[row] = w.fma(mass, whole[k], right[row])
        return [w.sub(a, b) for a, b in zip(whole, self.factors.solve(right))]

    # -- what follows ------------------------------------------------------------------------------------------------

    def _complete(self, good: Word, end: _RowAt) -> None:
        """Lanes of a good step move to its end, save there, and pass what lies there."""
        frame, w, m = self.frame, self.frame.w, self.model.unknowns
        for cell, word in zip(frame.x, end.y):
            cell.set_where(good, word)
        frame.t.set_where(good, end.t)
        frame.steps.set_where(good, w.add(frame.steps.now, w.num(1.0)))
        passed = w.both(good, w.compare("oeq", end.t, frame.end.now))
        saves = w.both(good, w.compare("oeq", end.t, frame.next_time.now))
        with w.when(w.any(w.either(passed, saves)), rarely=True):
            for cell, word in zip(frame.x[m:], end.rate()):
                cell.set(word)
            going = frame.pass_stop(passed)
            with w.when(w.any(going)):
                # Behind a time of a table z and x' may have jumped.
                self.rows.settle(going)
                self.control.forget(going)
            frame.save_now(good)


class _RosenbrockRows(SavedInside):
    """y + Σ_j θ^(j+1) Σ_i powers_ji k_i, and x' as its derivative."""

    def __init__(
        self, frame: KernelFrame, t: Word, t_new: Word, row: list[Word], ks: list[list[Word]],
        numbers: RosenbrockCoefficients, model: ImplicitLaneModel,
    ) -> None:  # fmt: skip
        super().__init__(frame, t, t_new)
        self.row, self.ks, self.numbers, self.model = row, ks, numbers, model
        self._mended: MendedPolynomials | None = None

    def mend(
        self, mask: Word, scales: list[Word], correct: Callable[[Word, list[Word], list[Word]], list[Word]]
    ) -> Word:
        """Mends stiff and algebraic components in lanes of a mask; gives the error of what stands."""
        given = (self.t, self.h, self._written(), scales, self.model.differential, correct)
        self._mended = MendedPolynomials(self.frame, *given)
        return self._mended.mend(mask)

    def _written(self) -> Polynomials:
        """The polynomials of the method, of (x, z)."""
        w, powers = self.frame.w, self.numbers.powers
        return [
            [self.row[k], *(weighted(w, weights, [stage[k] for stage in self.ks]) for weights in powers)]
            for k in range(self.model.unknowns)
        ]

    def _coefficients(self) -> Polynomials:
        w, powers, saved = self.frame.w, self.numbers.powers, self.model.saved
        y = self._written() if self._mended is None else self._mended.now()
        if saved <= self.model.unknowns:
            return y[:saved]
        per_h = w.div(w.num(1.0), self.h)
        slopes = [
            [w.mul(w.mul(per_h, w.num(j + 1.0)), y[k][j + 1]) for j in range(len(powers))]
            for k in range(self.model.differential)
        ]
        return [*y, *slopes]
