"""What a kernel of an implicit method knows of a model: 0 = F(t, x', x, z, u, p) of index 1 with a constant ∂F/∂x'.

A row of a run is (x, z, x'). Where the model is x' = f(t, x, u, p), rows are saved as x alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.compilation.lanes.lane_formulas import check_known
from daedalus.compilation.lanes.words import LaneText, Word
from daedalus.ensembles.lanes.lane_model import LaneModel
from daedalus.ensembles.lanes.straight_elimination import Elimination, Place, find_elimination, multiplications
from daedalus.model.expressions import nonzeros
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.instruction_list import Instructions, read_instructions

# Lengths of steps as shares of the span for which pivots should suit.
LENGTHS = (1e-16, 1e-12, 1e-8, 1e-4, 1.0)


@dataclass(frozen=True)
class EliminatedPattern:
    """Where the entries of ∂F/∂x' and of ∂F/∂(x, z) stand, and in which order their sum is eliminated."""

    rates: tuple[Place, ...]
    unknowns: tuple[Place, ...]
    of_steps: Elimination  # a ∂F/∂x' + ∂F/∂(x, z)
    of_starts: Elimination  # columns of ∂F/∂x' where a state has a derivative, else of ∂F/∂(x, z)


@dataclass(frozen=True, eq=False, kw_only=True)
class ImplicitLaneModel(LaneModel):
    """`slopes` is F(t, x', x, z, u, p); a row has `differential` states x, then z, then x'."""

    differential: int
    algebraic: int
    pattern: EliminatedPattern
    still: Instructions  # (t, x, z, u, p) -> F at x' = 0
    linearised: Instructions  # (t, x, z, u, p, u') -> F at x' = 0, ∂F/∂x', ∂F/∂(x, z), ∂F/∂t + ∂F/∂u u'
    whole: Instructions  # (t, x', x, z, u, p) -> F, ∂F/∂x', ∂F/∂(x, z)
    autonomous: bool
    held: tuple[float, ...] = ()  # of each state without a derivative its nominal value where it is given, else 0
    nominal: tuple[float, ...] = ()  # of each unknown, 1 where its derivative is solved for

    @property
    def unknowns(self) -> int:
        """How many x and z are."""
        return self.differential + self.algebraic

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What distinguishes the text of a kernel by its model."""
        lists = tuple(rows.digest() for rows in (self.slopes, self.still, self.linearised, self.whole))
        sizes = self.states, self.saved, self.differential, self.inputs, self.parameters, self.tabled
        return "implicit", *sizes, *lists, self.pattern, self.autonomous, self.held, self.nominal, self.strict

    @property
    def lists(self) -> dict[str, tuple[Instructions, int]]:
        """The formulas by the names of their functions, each with the number of its argument p."""
        found = {"model.residual": (self.slopes, 5), "model.still": (self.still, 4)}
        return found | {"model.linearised": (self.linearised, 4), "model.whole": (self.whole, 5)}

    @property
    def has_derivative(self) -> list[bool]:
        """Of each unknown whether it is a state whose derivative occurs."""
        found = {column for _, column in self.pattern.rates}
        return [k in found for k in range(self.unknowns)]

    def at(
        self, w: LaneText, name: str, t: Word, y: list[Word], *more: list[Word],
        rate: list[Word] | None = None, rare: bool = False,
    ) -> list[list[Word]]:  # fmt: skip
        """Formulas by their name at y = (x, z), and at x' where they take it; more: u, p, and u' where they take it.

        "model.residual": F. "model.still": F at x' = 0. "model.linearised": the same, the entries of both matrices, and
        the derivative of F by time. "model.whole": F and the entries of both matrices.
        """
        n = self.differential
        rates = [] if rate is None else [rate]
        return self.written(w, name, [[t], *rates, y[:n], y[n:], *more], rare)


def implicit_model(
    residual: ca.SX, symbols: Mapping[str, ca.SX], sample: Callable[[str, int], np.ndarray], span: float, most: int
) -> ImplicitLaneModel | str:
    """The formulas of 0 = F in symbols by letter, whatever drives it and is given, or why a kernel cannot have them.

    sample(letter, k): values of size one or as they usually are, the k-th ones. Raises UnknownOperationError.
    """
    t, rate, x, z, u, p = (symbols[letter] for letter in ("t", "xdot", "x", "z", "u", "p"))
    rise, y = ca.SX.sym("udot", u.numel()), ca.vertcat(x, z)
    matrices = ca.jacobian(residual, rate), ca.jacobian(residual, y)
    drift = ca.jacobian(residual, t) + ca.mtimes(ca.jacobian(residual, u), rise)
    rest = [residual, *(nonzeros(matrix) for matrix in matrices), drift]
    rest = [
        ca.densify(e)
        for e in ca.substitute(rest, [rate] * bool(rate.numel()), [ca.SX.zeros(*rate.shape)] * bool(rate.numel()))
    ]
    entries = [ca.densify(residual), *(ca.densify(nonzeros(matrix)) for matrix in matrices)]
    functions = [
        ca.Function("residual", [t, rate, x, z, u, p], [ca.densify(residual)], {"cse": True}),
        ca.Function("still", [t, x, z, u, p], rest[:1], {"cse": True}),
        ca.Function("linearised", [t, x, z, u, p, rise], rest, {"cse": True}),
        ca.Function("whole", [t, rate, x, z, u, p], entries, {"cse": True}),
    ]
    if sum(f.n_instructions() for f in functions) > most:
        return "its formulas are too long for a kernel"
    of_residual, of_still, of_rest, of_whole = lists = [read_instructions(f) for f in functions]
    for rows in lists:
        check_known(rows)
    found = _pattern(matrices, functions[-1], sample, span)
    if isinstance(found, str):
        return found
    size = multiplications(found.of_steps, {*found.rates, *found.unknowns})
    if size > most:
        return "its linear systems are too large for a kernel"
    n, m = x.numel(), z.numel()
    return ImplicitLaneModel(
        2 * n + m, u.numel(), p.numel(), of_residual, judged=n + m, differential=n, algebraic=m, pattern=found,
        still=of_still, linearised=of_rest, whole=of_whole, autonomous=not ca.depends_on(residual, ca.vertcat(t, u)),
    )  # fmt: skip


def _pattern(
    matrices: Sequence[ca.SX], whole: ca.Function, sample: Callable[[str, int], np.ndarray], span: float
) -> EliminatedPattern | str:
    rates, unknowns = (tuple((int(r), int(c)) for r, c in zip(*matrix.sparsity().get_triplet())) for matrix in matrices)
    size, samples = matrices[1].size1(), []
    for k in range(2):
        values = [
            np.asarray(v, dtype=float).ravel()
            for v in whole(*(sample(a, k) for a in ("t", "xdot", "x", "z", "u", "p")))[1:]
        ]
        if all(np.isfinite(v).all() for v in values):
            samples.append(values)
    # Nothing is known of sizes where no sample is a number.
    samples = samples or [[1.0 + 0.1 * np.sin(np.arange(1.0, len(part) + 1)) for part in (rates, unknowns)]]
    places = tuple(sorted({*rates, *unknowns}))
    with_rate = {c for _, c in rates}
    of_steps = find_elimination(
        size, places, [_summed(places, rates, unknowns, v, 1 / (h * span)) for v in samples for h in LENGTHS]
    )
    starts = tuple(sorted({*rates, *(place for place in unknowns if place[1] not in with_rate)}))
    of_starts = find_elimination(size, starts, [_started(starts, rates, unknowns, v) for v in samples])
    if of_steps is None or of_starts is None:
        return "its equations are singular at usual values"
    return EliminatedPattern(rates, unknowns, of_steps, of_starts)


def _summed(
    places: Sequence[Place], rates: Sequence[Place], unknowns: Sequence[Place], values: Sequence[np.ndarray], a: float
) -> np.ndarray:
    """a ∂F/∂x' + ∂F/∂(x, z) at the places of the sum."""
    where, found = {place: k for k, place in enumerate(places)}, np.zeros(len(places))
    for part, of_part, factor in ((rates, values[0], a), (unknowns, values[1], 1.0)):
        for place, value in zip(part, of_part):
            found[where[place]] += factor * value
    return found


def _started(
    places: Sequence[Place], rates: Sequence[Place], unknowns: Sequence[Place], values: Sequence[np.ndarray]
) -> np.ndarray:
    """The matrix of starts at its places."""
    known = dict(zip(unknowns, values[1]))
    known.update(zip(rates, values[0]))
    return np.array([known[place] for place in places])
