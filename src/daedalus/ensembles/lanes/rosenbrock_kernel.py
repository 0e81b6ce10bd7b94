"""Kernels of Rosenbrock methods: stiff systems and index 1, steps that adapt in every lane on its own.

(∂F/∂x' / (h γ) + ∂F/∂y) k_i = −F(t + α_i h, v_i, y + Σ_j a_ij k_j) − h γ_i ∂F/∂t,    y = (x, z)
v_i = −(1/h) Σ_j c_ij k_j (its states),    y_new = y + Σ_j m_j k_j

as in core/methods/rosenbrock/rosenbrock.hpp, the matrix eliminated without loops. A lane in which the order of the
pivots does not suit, or whose start is not found at once, is left to the scalar core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.combinations import weighted
from daedalus.ensembles.lanes.implicit_lane_model import ImplicitLaneModel
from daedalus.ensembles.lanes.kernel_frame import KernelFrame
from daedalus.ensembles.lanes.rosenbrock_control import RosenbrockControl
from daedalus.ensembles.lanes.saved_inside import Polynomials, SavedInside
from daedalus.ensembles.lanes.settled_rows import SettledRows
from daedalus.ensembles.lanes.straight_elimination import StraightFactors
from daedalus.integrators.tableaux.rosenbrock_coefficients import RosenbrockCoefficients, rosenbrock_coefficients

# A solve whose backward error is above half of the digits, or a hundredth of the tolerance, needs other pivots.
HALF_OF_DIGITS, SHARE_OF_TOLERANCE = 2.0**-26, 1e-2
# As in the core (core/methods/step_control.hpp).
MOST_INSIDE, SHORTEST_LOOKED_INTO, ABOVE_ROUNDING = 10.0, 0.01, 10.0


def rosenbrock_kernel(model: ImplicitLaneModel, method: str, lanes: int, gpu: bool = False, inside: bool = True) -> str:
    """The text of a kernel by the name of a method; inside: rows may be saved inside a step."""
    frame = KernelFrame(model, lanes, gpu, inside)
    step = _RosenbrockStep(frame, model, rosenbrock_coefficients(method))
    with frame.loop():
        step.begin_fresh()
        step.take()
    return frame.text()


class _RowAt(NamedTuple):
    """A place of a run: its time, x and z, and x'."""

    t: Word
    y: list[Word]
    rate: list[Word]


class _RosenbrockStep:
    """One step of all lanes."""

    def __init__(self, frame: KernelFrame, model: ImplicitLaneModel, numbers: RosenbrockCoefficients) -> None:
        self.frame, self.model, self.numbers = frame, model, numbers
        self.control = RosenbrockControl(frame, numbers.order)
        self.rows = SettledRows(frame, model)
        self.factors: StraightFactors | None = None
        # What is left out inside a step shows in equations with time in them.
        self.looks_inside = not model.autonomous and len(numbers.powers) + 1 >= numbers.order

    def begin_fresh(self) -> None:
        """New cases: their first row and step."""
        frame, w, n, m = self.frame, self.frame.w, self.model.differential, self.model.unknowns
        with w.when(w.any(frame.fresh.now)):
            fresh = w.both(frame.fresh.now, frame.running())
            self.rows.begin(fresh)
            frame.save_now(frame.fresh.now)
            row = frame.now()
            self.control.forget(fresh)
            self.control.first(fresh, row[:n], row[m:])

    def take(self) -> None:
        """A step, judged; then all that follows from it."""
        frame, w, m = self.frame, self.frame.w, self.model.unknowns
        t, row = frame.t.now, frame.now()
        begin = _RowAt(t, row[:m], row[m:])
        t_new, reaches = self.control.plan()
        h = w.sub(t_new, t)
        self.control.begin_step(h)
        ks, end, sound = self._stages(begin, t_new, h)
        running = frame.running()
        frame.leave_where(w.both(running, w.unless(sound)))
        running = w.both(running, sound)
        scales = self._scales(begin, end)
        error = self._norm(scales, [self._sum(self.numbers.error.tolist(), ks, i) for i in range(m)])
        error = w.add(error, self._not_finite([*end.y, *end.rate]))
        if self.looks_inside:
            error = self._with_inside(error, begin, end, h, ks, scales)
        good = self.control.judge(error, h, running, reaches)
        _RosenbrockRows(frame, t, t_new, row, ks, self.numbers, self.model).save_inside(good)
        self._complete(good, end)

    # -- stages ------------------------------------------------------------------------------------------------------

    def _stages(self, begin: _RowAt, t_new: Word, h: Word) -> tuple[list[list[Word]], _RowAt, Word]:
        """k_i, the end of the step, and the lanes in which the linear systems are solved well."""
        frame, w, model, numbers = self.frame, self.frame.w, self.model, self.numbers
        per_h = w.div(w.num(1.0), h)
        u, p = frame.inputs(begin.t), frame.parameters()
        first, rates, unknowns, drift = model.at_rest(w, begin.t, begin.y, u, p, frame.input_slopes())
        factor = w.mul(per_h, w.num(1.0 / numbers.gamma[0]))
        entries = dict(zip(model.pattern.unknowns, unknowns))
        for place, word in zip(model.pattern.rates, rates):
            entries[place] = w.fma(factor, word, entries[place]) if place in entries else w.mul(factor, word)
        self.factors = factors = StraightFactors(w, model.pattern.of_steps, entries)
        ks: list[list[Word]] = []
        stage, rate, sound = begin.y, begin.rate, ""
        for i, (alpha, gamma) in enumerate(zip(numbers.alpha, numbers.gamma)):
            if i:
                stage = self._stage(i, begin.y, stage, ks)
                slope = w.neg(per_h)
                rate = [w.mul(slope, self._sum(numbers.c[i], ks, k)) for k in range(model.differential)]
                time = t_new if alpha == 1 else w.fma(w.num(alpha), h, begin.t)
                first = model.residual(w, time, rate, stage, frame.inputs(time), p)
            right = [w.neg(f) for f in first]
            if gamma and not model.autonomous:
                part = w.neg(w.mul(h, w.num(gamma)))
                right = [w.fma(part, d, r) for d, r in zip(drift, right)]
            ks.append(factors.solve(right))
            if not i:
                sound = self._sound(right, ks[0])
        # Stiffly accurate: the end is the last stage and its k.
        y = [w.add(a, k) for a, k in zip(stage, ks[-1])]
        speed = [w.fma(factor, k, v) for k, v in zip(ks[-1], rate)]
        return ks, _RowAt(t_new, y, speed), sound

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
        allowed = w.smaller(w.mul(frame.settings["rtol"], w.num(SHARE_OF_TOLERANCE)), w.num(HALF_OF_DIGITS))
        return w.either(self.factors.is_sound(right, found, allowed), w.unless(frame.finite(right)))

    # -- errors ------------------------------------------------------------------------------------------------------

    def _not_finite(self, words: list[Word]) -> Word:
        """Zero, or no number where one of some words is none."""
        w, total = self.frame.w, self.frame.w.num(0.0)
        for word in words:
            total = w.fma(word, w.num(0.0), total)
        return total

    def _scales(self, begin: _RowAt, end: _RowAt) -> list[Word]:
        return [self.control.rough_scale(a, b, atol) for a, b, atol in zip(begin.y, end.y, self.frame.atol)]

    def _norm(self, scales: list[Word], values: list[Word]) -> Word:
        """RMS in units of the tolerance."""
        w, total = self.frame.w, self.frame.w.num(0.0)
        for value, scale in zip(values, scales):
            part = w.mul(value, scale)
            total = w.fma(part, part, total)
        return w.sqrt(w.mul(total, w.num(1.0 / len(scales))))

    def _correction(self, at: _RowAt, scales: list[Word]) -> Word:
        """The length of a step of Newton's method from a place, in units of what is allowed inside a step."""
        frame, w = self.frame, self.frame.w
        assert self.factors is not None
        found = self.model.residual(w, at.t, at.rate, at.y, frame.inputs(at.t), frame.parameters())
        return w.mul(self._norm(scales, self.factors.solve(found)), w.num(1.0 / MOST_INSIDE))

    def _with_inside(
        self, error: Word, begin: _RowAt, end: _RowAt, h: Word, ks: list[list[Word]], scales: list[Word]
    ) -> Word:
        """The error, or how far the middle of the dense output is from the solution where that is more."""
        w, powers = self.frame.w, self.numbers.powers
        parts = 0.5 ** np.arange(len(powers))
        middle = 0.5 * parts @ powers
        slope = (np.arange(1, len(powers) + 1) * parts) @ powers
        y = [w.add(a, self._sum(middle, ks, k)) for k, a in enumerate(begin.y)]
        per_h = w.div(w.num(1.0), h)
        rate = [w.mul(per_h, self._sum(slope, ks, k)) for k in range(self.model.differential)]
        inside = self._correction(_RowAt(w.fma(w.num(0.5), h, begin.t), y, rate), scales)
        at_end = w.mul(self._correction(end, scales), w.num(ABOVE_ROUNDING))
        counts = w.compare("oge", w.abs(h), w.mul(self.control.usual.now, w.num(SHORTEST_LOOKED_INTO)))
        far = w.both(w.compare("ogt", inside, w.num(1.0)), w.compare("olt", inside, w.num(float("inf"))))
        counts = w.both(counts, w.unless(w.both(far, w.compare("olt", inside, at_end))))
        counts = w.both(counts, w.compare("olt", inside, w.num(float("inf"))))
        counts = w.both(counts, w.compare("olt", error, w.num(1.0)))
        return w.choose(w.both(counts, w.compare("ogt", inside, error)), inside, error)

    # -- what follows ------------------------------------------------------------------------------------------------

    def _complete(self, good: Word, end: _RowAt) -> None:
        """Lanes of a good step move to its end, save there, and pass what lies there."""
        frame, w = self.frame, self.frame.w
        for cell, word in zip(frame.x, [*end.y, *end.rate]):
            cell.set_where(good, word)
        frame.t.set_where(good, end.t)
        frame.steps.set_where(good, w.add(frame.steps.now, w.num(1.0)))
        passed = w.both(good, w.compare("oeq", end.t, frame.end.now))
        with w.when(w.any(passed)):
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

    def _coefficients(self) -> Polynomials:
        w, powers, saved = self.frame.w, self.numbers.powers, self.model.saved
        y = [
            [self.row[k], *(weighted(w, weights, [stage[k] for stage in self.ks]) for weights in powers)]
            for k in range(self.model.unknowns)
        ]
        if saved <= self.model.unknowns:
            return y[:saved]
        per_h = w.div(w.num(1.0), self.h)
        slopes = [
            [w.mul(w.mul(per_h, w.num(j + 1.0)), y[k][j + 1]) for j in range(len(powers))]
            for k in range(self.model.differential)
        ]
        return [*y, *slopes]
