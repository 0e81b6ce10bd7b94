"""`dd.eliminate(m, "z")`: algebraic variables solved for and put into all other equations, z = ξ(t, x, u, p).

That is possible where the equations g without derivatives have a ∂g/∂z of full rank.
"""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import independent_rows, rank_of
from daedalus.analysis.structure.block_form import triangular_blocks
from daedalus.errors import InputError, SingularModelError, SolverError
from daedalus.model.expressions import at_values, column, concatenate, divided, elements, nonzeros, symbol_key
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean, read_names, with_article
from daedalus.model.system.equation_row import EquationRow, Role
from daedalus.model.system.system import System
from daedalus.reduction.findings import EliminatedUnknowns
from daedalus.reduction.forms.explicit_form import find_explicit_form
from daedalus.reduction.forms.linearity import is_linear
from daedalus.reduction.forms.no_form import FormObstacle, NoForm
from daedalus.reduction.forms.torn_solve import solve_linear, torn
from daedalus.reduction.rewriting import (
    ReducedModel,
    equation_rows,
    has_derivative,
    keep_further_names,
    read_model,
    rewritten,
    scalar_rows,
    start_value,
    substituted,
    write_rows,
    written_out,
)

# A symbolic solve for n tearing variables costs about n³ operations.
LARGEST_BLOCK = 16


def eliminate(model: Model | System, names: str | Iterable[str] | None = None) -> ReducedModel:
    """Remove algebraic variables from a model; each becomes an output with the same name.

    The unknowns are computed from as many equations without derivatives; if there is a choice, from those that are best
    conditioned at the start. These must be linear in the unknowns of each block. An unknown that such equations do not
    determine, such as the force of a differentiated constraint, is solved for together with the derivatives, if these
    have formulas.

    Parameters
    ----------
    names: one name or several; by default every algebraic variable that has a formula, without the forces of frictions
        and unilateral contacts, which a run reads. `n.notes` lists them.

    Raises
    ------
    SingularModelError: ∂g/∂z does not have full rank, in general or at the start. SolverError: z needs a nonlinear
        solve.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("reciprocal"); x = m.state("x", start=2.0); z = m.algebraic("z")
    >>> m.equation(m.der(x), z - x, name="balance"); m.equation(x * z, 1, name="product")
    >>> n = dd.eliminate(m, "z")
    >>> n.equations
    {'balance': ['x_dot - (1/x - x) = 0']}
    >>> float(dd.simulate(n, 1.0)["z"][0])
    0.5
    """
    written = read_model(model, "eliminate")
    written.freeze()
    book = written_out(written)
    origins, rows = equation_rows(book), scalar_rows(book)
    if names is None:
        return _everything(book, [name for name in _aliases(book, rows) if name not in _contacts(book)])
    return _put_in(book, origins, rows, _names(book, names))


def _everything(book: ReducedModel, aliases: list[str]) -> ReducedModel:
    """The model without all algebraic variables that have formulas: aliases first, then all others that can go."""
    before = list(book._found)
    n = _tried(book, aliases) or book
    held = _contacts(book)
    left = [v.name for v in n.written.variables.values() if v.kind == "algebraic" and v.name not in held]
    whole = _tried(n, left)
    if whole is not None:
        n = whole
    else:
        for name in left:
            n = _tried(n, [name]) or n
    kept = tuple(name for name in left if name in n.written.variables)
    gone = tuple(
        v.name for v in book.written.variables.values() if v.kind == "algebraic" and v.name not in n.written.variables
    )
    if gone or kept:
        n._know(n._reduction, *before, EliminatedUnknowns(gone, kept))
    return n


def _tried(book: ReducedModel, wanted: list[str]) -> ReducedModel | None:
    """The model without some variables; None where they have no formulas."""
    if not wanted:
        return None
    try:
        return _put_in(book, equation_rows(book), scalar_rows(book), wanted)
    except (SingularModelError, SolverError):
        return None


def _put_in(book: ReducedModel, origins: list[EquationRow], rows: list[ca.SX], wanted: list[str]) -> ReducedModel:
    """Some variables solved for and put into all other equations."""
    labels = [row.label for row in origins]
    z = concatenate(book.written.symbols[name] for name in wanted)
    z_labels = [
        book.written.variables[name].label(k) for name in wanted for k in range(book.written.variables[name].size)
    ]
    candidates = [i for i, row in enumerate(rows) if not has_derivative(book, row) and ca.depends_on(row, z)]
    together = None if _rank_somewhere(rows, candidates, z) == z.numel() else _with_derivatives(book, wanted, rows)
    if together is None:
        chosen = _chosen_rows(book, rows, candidates, z, z_labels, labels)
        values = _solved(book, concatenate(rows[i] for i in chosen), z, z_labels, [labels[i] for i in chosen])
    else:
        chosen, values = together
    n = rewritten(book, dict.fromkeys(wanted))
    rest = [i for i in range(len(rows)) if i not in set(chosen)]
    write_rows(n, [origins[i] for i in rest], [rows[i] for i in rest])
    substituted(n, z, values)
    n.written.outputs.update(zip(wanted, divided(values, [book.written.symbols[name] for name in wanted])))
    keep_further_names(n)
    return n


def _contacts(book: Model) -> set[str]:
    """The forces of frictions and unilateral contacts: a run judges by them who sticks, slides and lifts off."""
    events = book.written.events.values()
    return {event.manner.contact.name for event in events if event.manner.contact is not None}


def _names(book: Model, names: str | Iterable[str]) -> list[str]:
    asked = read_names(names, "names")
    held = sorted(_contacts(book).intersection(asked))
    if held:
        raise InputError(
            f"{held[0]} cannot be eliminated.",
            "it is the force of a friction or of a unilateral contact",
            because="a run judges by it whether the contact holds, and its formula differs from mode to mode.",
            remedy="the other variables, or no names, which leaves the forces of contacts as they are",
        )
    known = [v.name for v in book.written.variables.values() if v.kind == "algebraic"]
    for name in asked:
        if name not in known:
            kind = book.written.variables[name].kind if name in book.written.variables else None
            raise InputError(
                f"{name} cannot be eliminated.",
                f"{name} is {with_article(kind)}" if kind else f"the model {book.name!r} has no such variable",
                because="whole algebraic variables are solved for and put into the other equations.",
                remedy=did_you_mean(str(name), known, listed=False)
                if known
                else "the model has no algebraic variables",
            )
    return list(dict.fromkeys(asked))


def _aliases(book: Model, rows: list[ca.SX]) -> list[str]:
    """Algebraic variables all of whose elements are another unknown times a constant."""
    chosen: dict[tuple[str, int], int] = {}
    for i, row in enumerate(rows):
        symbols = ca.symvar(row)
        if len(symbols) != 2 or has_derivative(book, row):
            continue
        slopes = ca.jacobian(row, concatenate(symbols))
        constant = ca.substitute(row, concatenate(symbols), ca.SX.zeros(2))
        if not slopes.is_constant() or not constant.is_zero() or not is_linear(row, concatenate(symbols), slopes):
            continue
        if slopes.nnz() < 2 or 0.0 in (float(slopes[0]), float(slopes[1])):
            continue
        owners = [book.written.known[symbol_key(s)][:2] for s in symbols]
        if any(n == "t" or book.written.variables[n].kind == "parameter" for n, _ in owners):
            continue
        # The later declared of two algebraic variables goes.
        for owner in sorted(owners, key=lambda o: -list(book.written.variables).index(o[0])):
            if book.written.variables[owner[0]].kind == "algebraic" and owner not in chosen:
                chosen[owner] = i
                break
    return [
        v.name
        for v in book.written.variables.values()
        if v.kind == "algebraic" and all((v.name, k) in chosen for k in range(v.size))
    ]


# -- which equations -------------------------------------------------------------------------------------------


def _draw(count: int) -> np.ndarray:
    """Values of either sign, well away from zero."""
    draw = np.random.default_rng(1965)
    return draw.uniform(0.4, 1.6, count) * draw.choice([-1.0, 1.0], count)


def _slope_function(rows: list[ca.SX], which: list[int], unknowns: ca.SX) -> tuple[ca.Function, list[ca.SX]]:
    """The slopes of some equations as a function of the symbols in them, and these."""
    slopes = ca.jacobian(concatenate(rows[i] for i in which), unknowns) if which else ca.SX(0, unknowns.numel())
    symbols = ca.symvar(slopes)
    return ca.Function("slopes", [concatenate(symbols)], [ca.densify(slopes)]), symbols


def _rank_somewhere(rows: list[ca.SX], which: list[int], unknowns: ca.SX) -> int:
    """The rank of the slopes of some equations at values drawn at random."""
    function, symbols = _slope_function(rows, which, unknowns)
    return rank_of(function(_draw(len(symbols))).full(), "dg/dz").rank if which else 0


def _with_derivatives(book: Model, wanted: list[str], rows: list[ca.SX]) -> tuple[list[int], ca.SX] | None:
    """Equations to leave out and formulas for unknowns that follow together with derivatives; None where none do.

    With z put in, as many equations as there are other unknowns must determine these: written ones before those that
    were differentiated.
    """
    system = book.freeze()
    found = find_explicit_form(system)
    if isinstance(found, NoForm):
        return None
    places = [system.place(name) for name in wanted]
    values = concatenate(found.z[int(k)] for place in places for k in place.positions)
    gone = {int(k) for place in places for k in place.positions}
    others = [system.symbol("z")[k] for k in range(system.sizes["z"]) if k not in gone]
    unknowns = ca.vertcat(*(book.written.derivative_scalar(*entry) for entry in _highest(book, system)), *others)
    put = [ca.substitute(row, concatenate(book.written.symbols[name] for name in wanted), values) for row in rows]
    origins = equation_rows(book)
    order = sorted(range(len(rows)), key=lambda i: (origins[i].times, i))
    function, symbols = _slope_function(put, order, unknowns)
    kept = independent_rows(function(_draw(len(symbols))).full())
    if len(kept) < unknowns.numel() or len(rows) - len(kept) != values.numel():
        return None
    return sorted(set(range(len(rows))) - {order[k] for k in kept}), ca.densify(values)


def _highest(book: Model, system: System) -> list[tuple[str, int, int]]:
    """The highest derivative of every element of every state, as (name, element, order)."""
    return [(v.name, k, system.orders[v.name][k]) for v in system.of_kind("state") for k in range(v.size)]


def _chosen_rows(
    book: Model, rows: list[ca.SX], candidates: list[int], z: ca.SX, z_labels: list[str], labels: list[str]
) -> list[int]:
    """As many equations as unknowns, with a regular matrix at random values, the best ones at the start."""
    function, symbols = _slope_function(rows, candidates, z)
    values, random = np.array([start_value(book, s) for s in symbols]), _draw(len(symbols))
    somewhere = rank_of(function(random).full(), "dg/dz").rank if candidates else 0
    where = [labels[i] for i in candidates]
    if somewhere < z.numel():
        raise SingularModelError(
            f"{', '.join(z_labels[:6])} cannot be eliminated.",
            [
                f"the slopes of the equations without derivatives by them have rank {somewhere} of {z.numel()}",
                f"these equations contain them: {', '.join(where[:6])}" if where else "no such equation contains them",
            ],
            because="they are determined only together with derivatives, or by differentiated constraints.",
            remedy=_remedy(book),
        )
    at_start = function(np.where(np.isnan(values), random, values)).full()
    if not np.all(np.isfinite(at_start)) or rank_of(at_start, "dg/dz").rank < z.numel():
        named = book.written.labels()
        place = [f"{named[symbol_key(s)]} = {v:g}" for s, v in zip(symbols, values) if not np.isnan(v)]
        raise SingularModelError(
            f"{', '.join(z_labels[:6])} cannot be eliminated at the start.",
            f"the matrix of {', '.join(where[:6])} is singular at {', '.join(place[:8])}",
            because="the equations can be solved for them elsewhere, but not there.",
            remedy="another start, or keep them as unknowns",
        )
    if len(candidates) == z.numel():
        return candidates
    from scipy.linalg import qr

    # An equation is good for z where z counts much in it beside its other unknowns.
    scaled = at_start / _slopes_of_all(book, [rows[i] for i in candidates])[:, None]
    _, _, order = qr(scaled.T, pivoting=True)
    return sorted(candidates[i] for i in order[: z.numel()])


def _remedy(book: Model) -> str:
    """What helps: a reduction that was not made yet, or another one."""
    form = find_explicit_form(book.freeze())
    if isinstance(form, NoForm) and form.obstacle is not FormObstacle.SINGULAR:
        return "keep them as unknowns: derivatives and they follow from equations that have no formulas"
    if any(row.times or row.role is Role.PUSHED for row in equation_rows(book)):
        return 'dd.eliminate(dd.reduce(m), ...) of the model as it was, with stabilise="projection" or "baumgarte"'
    return "dd.reduce(m) first, which differentiates the constraints"


def _slopes_of_all(book: Model, rows: list[ca.SX]) -> np.ndarray:
    """The largest slope of each equation by any unknown, at the start."""
    expression = concatenate(rows)
    slopes = ca.jacobian(expression, concatenate(s for s in ca.symvar(expression) if _is_unknown(book, s)))
    largest = np.abs(at_values(ca.densify(slopes), lambda s: start_value(book, s, 1.0)).full()).max(axis=1)
    return np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)


def _is_unknown(book: Model, symbol: ca.SX) -> bool:
    name = book.written.known[symbol_key(symbol)][0]
    return name != "t" and book.written.variables[name].kind in ("state", "algebraic")


def _at_start(book: Model, matrix: ca.SX) -> np.ndarray:
    """The nonzeros of a matrix at the written values, with ones where there are none: for its scales."""
    return at_values(nonzeros(matrix), lambda s: start_value(book, s, 1.0)).full().ravel()


def _solved(book: Model, equations: ca.SX, z: ca.SX, z_labels: list[str], labels: list[str]) -> ca.SX:
    """z as expressions, block by block in triangular order."""
    rows, unknowns, found = elements(equations), elements(z), elements(ca.SX.zeros(z.shape))
    done: list[int] = []
    for own_rows, own in triangular_blocks(ca.jacobian_sparsity(equations, z)):
        block, symbols = concatenate(rows[i] for i in own_rows), concatenate(unknowns[j] for j in own)
        matrix = ca.jacobian(block, symbols)
        linear = is_linear(block, symbols, matrix)
        sample = _at_start(book, matrix) if linear and len(own) > 1 else None
        large = len(own) > LARGEST_BLOCK and torn(matrix, sample, LARGEST_BLOCK) is None
        if not linear or large:
            reason = f"{len(own)} equations to be solved together for" if linear else "nonlinear in"
            raise SolverError(
                f"{', '.join(z_labels[j] for j in own[:6])} cannot be written as an expression.",
                f"{', '.join(labels[i] for i in own_rows[:6])} {'is' if len(own) == 1 else 'are'} {reason} "
                f"{', '.join(z_labels[j] for j in own[:6])}",
                because="elimination needs a closed form z = ξ(t, x, u, p).",
                remedy="keep it as an unknown: an implicit method solves for it in every step",
            )
        rest = ca.substitute(block, symbols, ca.SX.zeros(symbols.shape))
        values = column(-rest / matrix) if len(own) == 1 else -solve_linear(matrix, rest, sample)
        if done:
            old, new = concatenate(unknowns[j] for j in done), concatenate(found[j] for j in done)
            values = ca.substitute(values, old, new)
        for j, value in zip(own, elements(ca.densify(values))):
            found[j] = value
        done += own
    return concatenate(found)
