"""Solve 0 = F(t, x', x, z, u, p) for x' and z as expressions, block by block, where the equations allow it.

The incidence of F in w = (x', z) is brought to block-triangular form (Duff and Reid 1978, through CasADi); each block
is linear in its own unknowns or the system has no explicit form. Scalar blocks are divisions, larger ones a symbolic
solve through the tearing variables of the block (`tearing`).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.algebra.rank_decision import SYMBOLIC_SOLVE, is_singular
from daedalus.analysis.structure.block_form import triangular_blocks
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.compilation.foreign_calls import calls_foreign_code
from daedalus.errors import SingularModelError, SolverError
from daedalus.model.expressions import column, concatenate, dense, elements, nonzeros, symbol_key
from daedalus.model.names import listed
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.reduction.forms.linearity import is_linear, may_step
from daedalus.reduction.forms.no_form import FormObstacle, NoForm
from daedalus.reduction.forms.rate_instructions import written_rates
from daedalus.reduction.forms.torn_solve import solve_linear, torn

# A larger block has formulas where this many tearing variables do: a sparse solve by numbers is cheaper otherwise.
MOST_TORN = 8
# This many equations with one unknown each are solved in one go.
MANY = 32
SINGULAR = FormObstacle.SINGULAR

Block = tuple[list[int], list[int]]  # equations and their unknowns


class Divisor(NamedTuple):
    """What stands before the one unknown that an equation is solved for, where that is no number."""

    equation: str
    unknown: str
    expression: ca.SX  # of (t, x, u, p)


class CoupledBlock(NamedTuple):
    """Equations that were solved together for algebraic variables, where their matrix is none of numbers."""

    equations: tuple[str, ...]
    unknowns: tuple[str, ...]
    matrix: ca.SX  # of (t, x, u, p)


@dataclass(frozen=True)
class ExplicitForm:
    """x' = f(t, x, u, p) and z = g(t, x, u, p), what was divided by on the way, and the matrices that were.

    as_written: whether f stands in the equations of a large system, each 0 = x' - f, and nothing was solved.
    """

    xdot: ca.SX
    z: ca.SX
    divisors: tuple[Divisor, ...] = ()
    coupled: tuple[CoupledBlock, ...] = ()
    as_written: bool = False

    def applied(self, system: System, expression: ca.SX) -> ca.SX:
        """An expression of (t, x', x, z, u, p) in terms of (t, x, u, p)."""
        old = [system.symbol("xdot"), system.symbol("z")]
        return ca.densify(ca.substitute([expression], old, [self.xdot, self.z])[0])


def explicit_form(system: System) -> ExplicitForm:
    """The explicit form of a system; kept with it, so that the second call costs nothing.

    Raises a SingularModelError when x' and z are not determined by the equations as they stand, and a SolverError
    when they are, but only through a nonlinear solve, or together with too many others.
    """
    found = find_explicit_form(system)
    if isinstance(found, NoForm):
        raise found.error
    return found


@remembered
def find_explicit_form(system: System) -> ExplicitForm | NoForm:
    """The explicit form of a system, or why there is none: of a large block `linear_form` has the matrix."""
    return _found(system)


@remembered
def find_shorter_form(system: System) -> ExplicitForm | NoForm:
    """The explicit form that divides by parameters too: shorter, but without a value where one of these is zero.

    A pendulum of mass m gets its acceleration by 1/m and one multiplier, in place of four equations together.
    """
    return _found(system, system.symbol("p"))


def _found(system: System, given: ca.SX | None = None) -> ExplicitForm | NoForm:
    """The explicit form; symbols `given` are divided by like numbers."""
    rates = written_rates(system)
    if rates is not None:
        return ExplicitForm(rates.formulas(system), ca.SX(0, 1), as_written=True)
    structure = structure_of(system)
    residual, w, pattern = system.residual, structure.symbols("xdot", "z"), structure.pattern("xdot", "z")
    labels = [*system.labels["xdot"], *system.labels["z"]]
    divisors: list[Divisor] = []
    coupled: list[CoupledBlock] = []
    residual, foreign = _without_calls(system, residual)
    solution: ca.SX | NoForm | None = _solve_diagonal(system, residual, w, pattern, labels, divisors)
    if solution is None:
        solution = _solve_blocks(system, residual, w, pattern, labels, divisors, coupled, given)
    if isinstance(solution, NoForm):
        return solution
    if foreign is not None:
        solution = ca.substitute(solution, *foreign)
        coupled.clear()
    n = system.sizes["x"]
    return ExplicitForm(column(solution[:n, 0]), column(solution[n:, 0]), tuple(divisors), tuple(coupled))


def _without_calls(system: System, residual: ca.SX) -> tuple[ca.SX, tuple[ca.SX, ca.SX] | None]:
    """The residual with symbols for what calls foreign code, and what they stand for.

    CasADi differentiates a call also where none of its arguments moves, which would make every divisor a call.
    """
    known = system.symbols(("t", "x", "u", "p"))
    if not calls_foreign_code(system.function):
        return residual, None
    plain, symbols, meant = ca.extract_parametric(residual, ca.vertcat(*known), {})
    return plain, (ca.vertcat(*symbols), ca.vertcat(*meant)) if symbols else None


def _solve_diagonal(
    system: System, residual: ca.SX, w: ca.SX, pattern: ca.Sparsity, labels: list[str], divisors: list[Divisor]
) -> ca.SX | None:
    """The common case, every equation with one unknown of its own, in one go; None when it is not that."""
    rows, columns = (np.array(k) for k in pattern.get_triplet())
    if len(rows) != w.numel() or len(set(rows)) != len(rows) or len(set(columns)) != len(columns):
        return None
    slope = ca.jtimes(residual, w, ca.SX.ones(w.shape))
    if not is_linear(residual, w, slope, may_step(system)) or _cancelled(slope):
        return None
    rest = ca.substitute(residual, w, ca.SX.zeros(w.shape))
    by_equation = column(-rest / slope)
    for row, unknown in () if slope.is_constant() else zip(rows.tolist(), columns.tolist()):
        if not slope[row].is_constant():
            divisors.append(Divisor(system.equation_labels[row], labels[unknown], slope[row]))
    equation_of = np.empty(len(rows), dtype=int)
    equation_of[columns] = rows
    return by_equation if np.array_equal(rows, columns) else by_equation[equation_of.tolist()]


def _solve_blocks(
    system: System, residual: ca.SX, w: ca.SX, pattern: ca.Sparsity, labels: list[str], divisors: list[Divisor],
    coupled: list[CoupledBlock], given: ca.SX | None,
) -> ca.SX | NoForm:  # fmt: skip
    if _structural_rank(pattern) < w.numel():
        return NoForm(_singular(system, pattern, labels), SINGULAR)
    blocks = triangular_blocks(pattern)
    large = _large_block(system, residual, w, blocks, labels)
    if large is not None:
        return large
    equations, unknowns, solved = elements(residual), elements(w), elements(ca.SX.zeros(w.shape))
    involved = _columns_by_row(pattern)
    for level in _levels(blocks, involved):
        level = [block for block in level if not _taken_over(block, equations, unknowns, involved, solved)]
        alone = [block for block in level if len(block[0]) == 1]
        together = [alone] if len(alone) >= MANY else []
        for chosen in together + [[block] for block in level if not together or len(block[0]) > 1]:
            rows, columns = ([k for block in chosen for k in block[side]] for side in (0, 1))
            own = ca.vertcat(*(unknowns[c] for c in columns))
            block = ca.vertcat(*(equations[r] for r in rows))
            scalar = len(rows) == len(chosen)
            if scalar:
                values = _solve_scalars(system, block, own, rows, columns, labels)
            else:
                values = _solve_block(system, block, own, rows, columns, labels, given)
            if isinstance(values, NoForm):
                return values
            if not scalar and min(columns) >= system.sizes["x"]:
                values = ca.vertcat(values, ca.vec(ca.densify(ca.jacobian(block, own))))
            # Earlier results enter last, so that the work on a block does not grow with all that it stands on.
            known = sorted({c for r in rows for c in involved[r]} - set(columns))
            if known:
                old, new = ([source[c] for c in known] for source in (unknowns, solved))
                values = ca.substitute(values, ca.vertcat(*old), ca.vertcat(*new))
            found = elements(ca.densify(values))
            for k, (row, c) in enumerate(zip(rows, columns)):
                solved[c] = found[k]
                if scalar and not found[len(rows) + k].is_constant():
                    divisors.append(Divisor(system.equation_labels[row], labels[c], found[len(rows) + k]))
            matrix = concatenate(found[len(rows) :])
            if not scalar and not matrix.is_constant():
                named = (tuple(system.equation_labels[r] for r in rows), tuple(labels[c] for c in columns))
                coupled.append(CoupledBlock(*named, ca.reshape(matrix, len(rows), len(rows))))
    return ca.vertcat(*solved)


def _levels(blocks: list[Block], involved: list[list[int]]) -> list[list[Block]]:
    """The blocks in the order of what they need: each one only blocks of earlier levels."""
    level_of: dict[int, int] = {}
    levels: list[list[Block]] = []
    # Lower block-triangular: the first block stands alone, each later one may need the earlier ones.
    for block in blocks:
        rows, columns = block
        own = 1 + max((level_of[c] for r in rows for c in involved[r] if c in level_of), default=-1)
        level_of.update(dict.fromkeys(columns, own))
        if own == len(levels):
            levels.append([])
        levels[own].append(block)
    return levels


def _solve_scalars(
    system: System, equations: ca.SX, unknowns: ca.SX, rows: list[int], columns: list[int], labels: list[str]
) -> ca.SX | NoForm:
    """Equations with one of the unknowns each, solved for it; what they are divided by follows."""
    slopes = ca.densify(ca.jtimes(equations, unknowns, ca.SX.ones(unknowns.shape)))
    steps = may_step(system)
    if not is_linear(equations, unknowns, slopes, steps):
        for k in range(len(rows)):
            if not is_linear(equations[k], unknowns[k], slopes[k], steps):
                return _nonlinear(system, rows[k : k + 1], columns[k : k + 1], labels)
    lost = _cancelled(slopes)
    if lost:
        return NoForm(_loop_of_gain_one(system.equation_labels[rows[lost[0]]], labels[columns[lost[0]]]), SINGULAR)
    rest = ca.substitute(equations, unknowns, ca.SX.zeros(unknowns.shape))
    return ca.vertcat(column(-rest / slopes), slopes)


def _taken_over(
    block: Block, equations: list[ca.SX], unknowns: list[ca.SX], involved: list[list[int]], solved: list[ca.SX]
) -> bool:
    """Whether an equation says that its unknown equals another symbol or a number, whose value that is then: as in long
    chains of connections."""
    rows, columns = block
    if len(rows) > 1 or not equations[rows[0]].is_op(ca.OP_SUB):
        return False
    sides = equations[rows[0]].dep(0), equations[rows[0]].dep(1)
    if sides[0].n_dep() or sides[1].n_dep():
        return False
    own = symbol_key(unknowns[columns[0]])
    others = [side for side in sides if not side.is_symbolic() or symbol_key(side) != own]
    if len(others) != 1:
        return False
    known = [c for c in involved[rows[0]] if c != columns[0]]
    solved[columns[0]] = solved[known[0]] if known else others[0]
    return True


def _cancelled(slopes: ca.SX) -> list[int]:
    """Which slopes are zero whatever the values are: in z = z + x the unknown stands on both sides and cancels."""
    if slopes.is_constant():
        return [int(k) for k in np.flatnonzero(ca.DM(slopes).full().ravel(order="F") == 0)]
    return [k for k, slope in enumerate(elements(dense(slopes))) if slope.is_zero()]


def _loop_of_gain_one(equation: str, unknown: str) -> SingularModelError:
    return SingularModelError(
        f"{equation} is an algebraic loop of gain one: {unknown} cancels out of it.",
        f"the coefficient of {unknown} is zero for all values",
        because=f"{unknown} equals itself and something more, which then has to be zero and leaves {unknown} open.",
        remedy=f"another gain, a delay or a lag in the loop, or an equation that determines {unknown}",
    )


def _large_block(system: System, residual: ca.SX, w: ca.SX, blocks: list[Block], labels: list[str]) -> NoForm | None:
    """A block that is too large, linear, and not torn to a few unknowns, found before any work on the others."""
    for rows, columns in (block for block in blocks if len(block[0]) > SYMBOLIC_SOLVE):
        own, equations = w[columns], residual[rows]
        matrix = structure_of(system).slopes("xdot", "z")[rows, columns]
        if is_linear(equations, own, matrix, may_step(system)) and not _tears(system, matrix):
            names = [labels[c] for c in columns]
            fact = f"{len(names)} equations must be solved together for {listed(names)}"
            return NoForm(_not_explicit(fact), FormObstacle.LARGE)
    return None


def _tears(system: System, matrix: ca.SX) -> bool:
    """Whether a few tearing variables are enough for a large block."""
    return torn(matrix, at_start(system, matrix), MOST_TORN) is not None


def _solve_block(
    system: System, equations: ca.SX, unknowns: ca.SX, rows: list[int], columns: list[int], labels: list[str],
    given: ca.SX | None,
) -> ca.SX | NoForm:  # fmt: skip
    """Solve a few equations that are linear in a few unknowns."""
    matrix = ca.jacobian(equations, unknowns)
    if not is_linear(equations, unknowns, matrix, may_step(system)):
        return _nonlinear(system, rows, columns, labels)
    rest = ca.substitute(equations, unknowns, ca.SX.zeros(unknowns.shape))
    if _always_singular(matrix):
        names, where = [labels[c] for c in columns], [system.equation_labels[r] for r in rows]
        error = SingularModelError(
            f"The equations do not determine {listed(names)}.",
            f"their matrix in {listed(where)} is singular for all values",
            because="the model is a DAE of higher index, or two equations are equivalent.",
            remedy="dd.analyse(m), which names hidden constraints",
        )
        return NoForm(error, SINGULAR)
    return -solve_linear(matrix, rest, at_start(system, matrix), given)


def _nonlinear(system: System, rows: list[int], columns: list[int], labels: list[str]) -> NoForm:
    """Equations that are not linear in the unknowns they are to be solved for."""
    names, where = [labels[c] for c in columns], [system.equation_labels[r] for r in rows]
    fact = f"{listed(where)} {'is' if len(where) == 1 else 'are'} nonlinear in {listed(names)}"
    return NoForm(_not_explicit(fact), FormObstacle.NONLINEAR)


def at_start(system: System, matrix: ca.SX) -> np.ndarray:
    """The nonzeros of a matrix at the start values of the model, with zeros where there are none: for its scales."""
    function = ca.Function("matrix", system.symbols(), [nonzeros(matrix)])
    values = {"x": system.default_start, "p": np.nan_to_num(system.start["p"], nan=1.0)}
    return function(*(values.get(letter, 0) for letter in ARGUMENTS)).full().ravel()


def _always_singular(matrix: ca.SX) -> bool:
    """Whether a matrix is singular at three points drawn at random, hence everywhere but for bad luck."""
    function = ca.Function("matrix", [concatenate(ca.symvar(matrix))], [ca.densify(matrix)])
    draw = random.Random(1978)  # NumPy's generators take longer to import than all of this
    points = [[draw.uniform(0.5, 1.5) for _ in range(function.size1_in(0))] for _ in range(3)]
    samples = [function(point).full() for point in points]
    return all(is_singular(sample) for sample in samples)


def _not_explicit(fact: str) -> SolverError:
    return SolverError(
        "This model has no explicit form x' = f(t, x, u, p).",
        fact,
        because="explicit methods need every derivative and algebraic variable as an expression.",
        remedy='method="auto" or "radau5", which solve it in every step, or the equation solved by hand',
    )


def _singular(system: System, pattern: ca.Sparsity, labels: list[str]) -> SingularModelError:
    """Name the unknowns that no equation is left for, and the equations that no unknown is left for."""
    matched = _matching(pattern)
    determined = set(matched.values())
    loose = [label for c, label in enumerate(labels) if c not in determined]
    constraints = [system.equation_labels[r] for r in range(pattern.size1()) if r not in matched]
    return SingularModelError(
        "The equations as written do not determine all derivatives and algebraic variables.",
        [f"left undetermined: {listed(loose)}", f"equations without an unknown of their own: {listed(constraints)}"],
        because="the model is a DAE of index 2 or higher, or two equations constrain the same unknowns.",
        remedy="dd.reduce(m), which differentiates the constraints, or a method for high-index systems",
    )


def _columns_by_row(pattern: ca.Sparsity) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(pattern.size1())]
    for r, c in zip(*pattern.get_triplet()):
        rows[r].append(c)
    return rows


def _structural_rank(pattern: ca.Sparsity) -> int:
    return len(_matching(pattern))


def _matching(pattern: ca.Sparsity) -> dict[int, int]:
    """Row -> column of a maximum matching."""
    rows, columns = (np.array(k, dtype=int) for k in pattern.get_triplet())
    partner = _core.maximum_matching(*pattern.shape, rows, columns).columns
    return {r: c for r, c in enumerate(partner.tolist()) if c >= 0}
