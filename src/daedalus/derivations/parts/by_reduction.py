"""Index reduction on the board: what is differentiated how often, the hidden constraint each time, the final system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import casadi as ca
import numpy as np

from daedalus.algebra.dense_values import DenseValues
from daedalus.derivations.compiled_residual import compiled_residual
from daedalus.derivations.derivation import DerivationStep
from daedalus.derivations.formula.agreement import largest_difference
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.numbers_along import rate_residual
from daedalus.derivations.planned_reduction import planned
from daedalus.derivations.reading import Reading
from daedalus.derivations.usual_values import drawn_near
from daedalus.errors import DaedalusError, InputError, SingularModelError
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.names import (
    counted,
    derivative_name,
    element_label,
    listed,
    split_derivative,
    split_index,
    times_text,
)
from daedalus.reduction.findings import CombinedEquations, RedundantConstraints
from daedalus.reduction.index.differentiate import Differentiation
from daedalus.reduction.reduce import STABILISATIONS, reduce
from daedalus.reduction.rewriting import ReducedModel
from daedalus.reduction.stabilise import damped

PART = "reduce"
# A number that stands for a symbolic rate of Baumgarte's damping where the result is checked.
RATE = 3.0


class ReductionSteps:
    """The steps of one reduction.

    stabilise: as in `dd.reduce`. alpha: the rate of Baumgarte's damping, a number or a name that stays a symbol.
    """

    def __init__(self, model: Model, stabilise: str | None, alpha: object) -> None:
        self.model, self.stabilise = model, stabilise
        self.plan, self.inputs = planned(model)
        self.read = Reading(self.plan.book)
        for own, symbol in self.inputs.items():
            size = symbol.numel()
            for k, entry in enumerate(elements(symbol)):
                self.read.name(entry, own if size == 1 else f"{own}[{k}]")
        self._input_rates = {}
        for own, symbol in self.inputs.items():
            origin, order = split_derivative(own)
            above = self.inputs.get(derivative_name(origin, order + 1))
            if above is not None:
                pairs = zip(elements(symbol), elements(above))
                self._input_rates.update({symbol_key(entry): rate for entry, rate in pairs})
        # What the plan does not differentiate is algebraic: forces of constraints and the like.
        algebraic = [
            self.plan.book.written.derivative_scalar(*unknown, 0)
            for j, unknown in enumerate(self.plan.unknowns)
            if self.plan.order(j) == 0
        ]
        self.read.driving += algebraic
        self.read.order = [*self.read.constants, *algebraic, *self.read.order]
        self.alpha, self.symbol = self._read_alpha(alpha)
        # Derivatives above those that were written have names too.
        self.read.labels.update(self.plan.book.written.labels())

    def _read_alpha(self, alpha: object) -> tuple[ca.SX | None, ca.SX | None]:
        if self.stabilise != "baumgarte":
            if alpha is not None:
                raise InputError(
                    f"alpha={alpha!r} cannot be used.",
                    f"stabilise={self.stabilise!r}",
                    because="alpha is the rate of Baumgarte's damping.",
                    remedy='dd.derive(m, "reduce", stabilise="baumgarte", alpha="alpha")',
                )
            return None, None
        if alpha is None or isinstance(alpha, str):
            symbol = ca.SX.sym(alpha or "alpha")
            self.read.name(symbol, alpha or "alpha")
            self.read.constants.append(symbol)
            return symbol, symbol
        return ca.SX(float(alpha)), None  # type: ignore[arg-type]

    # -- the steps ---------------------------------------------------------------------------------------------

    def steps(self) -> Iterator[DerivationStep]:
        """The steps in their order."""
        yield self._structure()
        if not self.plan.differentiated:
            return
        if self.plan.flow.row:
            yield self._put_in()
        own = self.plan.signature.c[self.plan.constraints]
        for times in range(1, int(own.max(initial=0)) + 1):
            yield self._level(times)
        yield self._hidden()
        yield self._final()

    def _structure(self) -> DerivationStep:
        plan, read = self.plan, self.read
        lines = [read.equation(row) for row in elements(self._short(plan.residual, self._unknown_symbols()))]
        if not plan.differentiated:
            text = "Nothing has to be differentiated: the equations determine every highest derivative as they stand."
            return read.step(PART, "structure", text, lines, lines, self._written_check())
        words = [f"{plan.rows[i].label} {times_text(times)}" for i, times in plan.times.items()]
        text = (
            f"The index is {plan.lowered_index}: the equations do not determine every highest derivative and algebraic "
            f"variable. To be differentiated: {listed(words, 12)}."
        )
        combined = [str(own) for own in plan.findings if isinstance(own, CombinedEquations)]
        if combined:
            text += f" One of them stands for others: {'; '.join(combined)}."
        return read.step(PART, "structure", text, lines, lines, self._written_check())

    def _written_check(self) -> float:
        """The equations of the plan against those that the model runs with."""
        system = self.model.freeze()
        known = set(system.equation_labels)
        rows = {row.label: e for row, e in zip(self.plan.rows, elements(self.plan.residual)) if row.label in known}
        return compiled_residual(system, rows)

    def _put_in(self) -> DerivationStep:
        """Equations such as q' = v are put into the others instead of being differentiated."""
        plan, read = self.plan, self.read
        lines = []
        for j, value in plan.flow.value.items():
            variable, k = plan.unknowns[j]
            symbol = plan.book.written.derivative_scalar(variable, k, plan.flow.order[j])
            read.labels.update(plan.book.written.labels())
            lines.append(read.line(symbol, self._short(value)))
        text = "These derivatives are known by equations of their own and are put in wherever they appear"
        text += "; differentiated, the equations give those above them too." if plan.put_in else "."
        old = concatenate(line.left for line in lines if isinstance(line.left, ca.SX))
        new = concatenate(plan.flow.value.values())
        rows = concatenate(elements(plan.residual)[i] for i in plan.flow.row.values())
        left = ca.densify(ca.substitute(rows, old, new))
        check = largest_difference(left, ca.SX.zeros(left.shape), usual=read.usual)
        return read.step(PART, "put in", text, [], [*lines, *self._above()], check)

    def _above(self) -> list[FormulaLine]:
        """The higher derivatives that equations of lower ones give, where they were written."""
        plan, found = self.plan, []
        along = Differentiation(plan.book, plan.unknowns, plan.flow)
        for j, i in plan.flow.row.items():
            value = plan.flow.value[j]
            for times in range(1, plan.put_in.get(i, 0) + 1):
                value = along.derivative(value)
                symbol = plan.book.written.derivative_scalar(*plan.unknowns[j], plan.flow.order[j] + times)
                self.read.labels.update(plan.book.written.labels())
                found.append(self.read.line(symbol, self._short(value)))
        return found

    def _level(self, times: int) -> DerivationStep:
        plan, read = self.plan, self.read
        own = [i for i in plan.constraints if plan.signature.c[i] >= times]
        before = concatenate(plan.levels[i, times - 1] for i in own)
        after = concatenate(plan.levels[i, times] for i in own)
        read.labels.update(plan.book.written.labels())
        names = listed([plan.rows[i].label for i in own], 8)
        word = ("once", "once more", "a third time", "a fourth time")[times - 1] if times < 5 else f"{times} times"
        highest = [i for i in own if plan.signature.c[i] == times]
        ends = "" if not highest else " It contains highest derivatives now." if len(own) == 1 else (
            f" {listed([plan.rows[i].label for i in highest], 6)} now contain highest derivatives.")  # fmt: skip
        moving, rates = self._motion(before)
        text = f"Differentiate {names} {word}.{ends}"
        short = self._short(after, self._unknown_symbols())
        return read.step(
            PART, f"differentiated {times_text(times)}", text,
            [read.equation(e, solve=False) for e in elements(self._short(before))],
            [read.equation(e, solve=False) for e in elements(short)],
            rate_residual(before, moving, rates, short, read.usual),
        )  # fmt: skip

    def _motion(self, expression: ca.SX) -> tuple[list[ca.SX], list[ca.SX]]:
        """What moves in an expression, and how fast; derivatives that an equation gives by that equation."""
        plan = self.plan
        place = {unknown: j for j, unknown in enumerate(plan.unknowns)}
        symbols, rates = [plan.book.written.time], [ca.SX(1)]
        for symbol in ca.symvar(expression):
            variable, k, order = plan.book.written.known.get(symbol_key(symbol), ("", 0, 0))
            if symbol_key(symbol) in self._input_rates:
                symbols.append(symbol)
                rates.append(self._input_rates[symbol_key(symbol)])
            if (variable, k) not in place:
                continue
            j = place[variable, k]
            symbols.append(symbol)
            solved = plan.flow.order.get(j) == order + 1
            rates.append(plan.flow.value[j] if solved else plan.book.written.derivative_scalar(variable, k, order + 1))
        return symbols, rates

    def _unknown_symbols(self) -> list[ca.SX]:
        """The highest derivatives, which are collected."""
        return [
            self.plan.book.written.derivative_scalar(*unknown, self.plan.order(j))
            for j, unknown in enumerate(self.plan.unknowns)
        ]

    def _hidden(self) -> DerivationStep:
        plan, read = self.plan, self.read
        lower, given = plan.lower_levels, [(i, 0) for i in plan.put_in]
        lines = [read.equation(self._short(plan.levels[at]), solve=False) for at in (*given, *lower)]
        hidden = sum(times > 0 for _, times in lower)
        other = reduce(self.model)
        repeated = _redundancies(other)
        free = int(plan.signature.d.sum() - plan.signature.c.sum())
        free = other.reduction.degrees_of_freedom if repeated else free
        count = len(lower) - hidden + len(given)
        text = (
            f"Start values of the states obey all of these: {counted(count, 'written constraint')} and "
            f"{counted(hidden, 'hidden one') if hidden else 'no hidden one'}; the last derivatives determine the other "
            f"unknowns. {counted(free, 'start value')} may be chosen freely."
        )
        text += "".join(f" {str(finding)[:1].upper()}{str(finding)[1:]}." for finding in repeated)
        kept = other.constraints
        found = self._in_names_of(other, concatenate(plan.levels[at] for at in lower))
        # Of redundant constraints the independent ones are kept: each of them is one of these.
        check = _same_set(concatenate(kept.values()), found, read.usual, part=bool(repeated)) if kept else 0.0
        return read.step(PART, "hidden constraints", text, [], lines, check)

    # -- the end -----------------------------------------------------------------------------------------------

    def _final(self) -> DerivationStep:
        if not self.plan.constraints and self.stabilise != "ggl":
            return self._as_reduced("What was put in determines every highest derivative. The final system:")
        if self.stabilise == "dummy_derivatives":
            return self._dummy()
        if self.stabilise == "ggl":
            return self._as_reduced("Both levels of every constraint stay, with one more multiplier each (Gear, Gupta, "
                                    "Leimkuhler); the index is 2.")  # fmt: skip
        if _redundancies(reduce(self.model)):
            return self._as_reduced("Of the redundant constraints, independent ones are differentiated and kept, with "
                                    "multipliers of their own. The final system:")  # fmt: skip
        plan, read = self.plan, self.read
        c = plan.signature.c
        damping: dict[int, ca.SX] = {}
        rows: dict[int, ca.SX] = {i: plan.levels[i, 0] for i in range(len(plan.rows)) if i not in plan.constraints}
        if self.stabilise == "baumgarte":
            assert self.alpha is not None
            rows.update({i: plan.levels[i, int(c[i])] for i in plan.constraints})
            for i in plan.constraints:
                parts = {k: self._short(plan.levels[i, k], self._unknown_symbols()) for k in range(int(c[i]) + 1)}
                damping[i] = damped(parts, int(c[i]), self.alpha)
            letter = read.label(self.symbol) if self.symbol is not None else f"{float(self.alpha):g}"
            text = (
                f"Baumgarte: in the place of each differentiated constraint stands (d/dt + `{letter}`) applied as "
                "often to the constraint, so that errors decay instead of growing. The final system:"
            )
        else:
            rows.update({i: plan.levels[i, int(c[i])] for i in plan.constraints})
            ends = {
                "projection": "its lower derivatives are invariants that every step is projected onto",
                None: "nothing keeps its lower derivatives at zero, so that a run drifts off",
            }[self.stabilise]
            text = f"The highest derivative of every constraint takes its place; {ends}. The final system has index 1:"
        order = sorted(rows)
        collect = self._unknown_symbols()
        lines = [
            read.line(damping[i], ca.SX(0)) if i in damping else read.equation(self._short(rows[i], collect))
            for i in order
        ]
        alpha = RATE if self.symbol is not None else None if self.alpha is None else float(self.alpha)
        other = reduce(self.model, stabilise=self.stabilise, alpha=alpha)
        found = self._in_names_of(other, concatenate(line.residual for line in lines))
        if self.symbol is not None:
            found = ca.densify(ca.substitute(found, self.symbol, ca.SX(RATE)))
        return read.step(PART, "final system", text, [], lines, _same_set(found, _rows_of(other), read.usual))

    def _dummy(self) -> DerivationStep:
        n = reduce(self.model, stabilise="dummy_derivatives")
        own = n.reduction
        plan, read = self.plan, self.read
        known = {derivative: label for label, derivative in self._rate_names().items()}
        dummies, integrated = (
            [f"`{step(known.get(label, label))}`" for label in labels]
            for labels, step in ((own.dependent, one_rate_higher), (own.selected, str))
        )
        text = (
            "Dummy derivatives: the constraints and all their derivatives stay as equations. In return as many "
            f"derivatives become algebraic unknowns of their own, which no integrator touches: {listed(dummies, 8)}. "
            f"Integrated are {listed(integrated, 8)}; a run changes the choice where another is better."
        )
        keep = [plan.levels[i, 0] for i in range(len(plan.rows)) if i not in plan.constraints]
        levels = [plan.levels[i, k] for i in plan.constraints for k in range(int(plan.signature.c[i]) + 1)]
        lines = [read.equation(self._short(e, self._unknown_symbols())) for e in (*keep, *levels)]
        other = reduce(self.model)
        kept = concatenate(other.constraints.values())
        lower = self._in_names_of(other, concatenate(plan.levels[at] for at in plan.lower_levels))
        return read.step(PART, "dummy derivatives", text, [], lines, _same_set(lower, kept, read.usual))

    def _rate_names(self) -> dict[str, str]:
        """The states that stand for derivatives in first-order form, by the names of those: p_dot[0] is p_rate[0]."""
        found = {}
        for variable, k in self.plan.unknowns:
            shape = self.plan.book.written.variables[variable].shape
            for order in (1, 2, 3):
                own = f"{variable}_rate" if order == 1 else f"{variable}_rate{order}"
                found[element_label(derivative_name(variable, order), shape, k)] = element_label(own, shape, k)
        return found

    def _as_reduced(self, text: str) -> DerivationStep:
        return final_system(reduce(self.model, stabilise=self.stabilise), text)

    def _in_names_of(self, other: ReducedModel, expression: ca.SX) -> ca.SX:
        """An expression with the symbols that another model has for the same derivatives, of inputs and of states."""
        pairs = [
            (self.inputs[name], other.written.symbols[name]) for name in self.inputs if name in other.written.symbols
        ]
        chains = self.plan.book.written.derivatives
        pairs += [pair for name in chains for pair in zip(chains[name], other.written.derivatives.get(name, ()))]
        if not pairs:
            return expression
        old, new = (concatenate(column) for column in zip(*pairs))
        return ca.densify(ca.substitute(expression, old, new))

    def _short(self, expression: ca.SX, collect: list[ca.SX] | None = None) -> ca.SX:
        return self.read.short(expression, collect or ())


def final_system(reduced: ReducedModel, text: str) -> DerivationStep:
    """The equations of a reduced model, against those that it runs with."""
    own = Reading(reduced)
    short = concatenate(own.short(e) for e in elements(_rows_of(reduced)))
    lines = [own.equation(e) for e in elements(short)]
    labels = [row.label for e in reduced.written.equations.values() for row in e.rows]
    system = reduced.freeze()
    derived = {label: e for label, e in zip(labels, elements(short)) if label in set(system.equation_labels)}
    return own.step(PART, "final system", text, [], lines, compiled_residual(system, derived))


def one_rate_higher(label: str) -> str:
    """The name of the derivative of a name, in front of its index.

    Example
    -------
    >>> one_rate_higher("p[2]"), one_rate_higher("p_dot[2]")
    ('p_dot[2]', 'p_ddot[2]')
    """
    stem, index = split_index(label)
    origin, order = split_derivative(stem)
    return derivative_name(origin, order + 1) + ("" if index is None else f"[{','.join(map(str, index))}]")


def _rows_of(model: ReducedModel) -> ca.SX:
    return concatenate(e.residual for e in model.written.equations.values())


def _redundancies(model: ReducedModel) -> list[RedundantConstraints]:
    """What a reduction knows of constraints that follow from others."""
    return [finding for finding in model.reduction.findings if isinstance(finding, RedundantConstraints)]


def _same_set(one: ca.SX, two: ca.SX, usual: Mapping[int, float], part: bool = False) -> float:
    """The largest distance from a row of one set to the nearest row of the other, at random points; signs aside.

    part: whether the other set may have more rows.
    """
    symbols = ca.symvar(ca.vertcat(one, two))
    both = DenseValues(ca.Function("both", [ca.vertcat(*symbols)], [ca.densify(one), ca.densify(two)]))
    draw = np.random.default_rng(1788)
    values: list[tuple[np.ndarray, np.ndarray]] = []
    for k in range(36):
        if k >= 24 and values:
            break
        point = draw.uniform(0.2, 1.6, len(symbols)) if k < 24 else drawn_near(draw, symbols, usual)
        if k < 12:
            point *= draw.choice([-1.0, 1.0], len(symbols))
        left, right = (part.ravel() for part in both(point))
        if np.all(np.isfinite(left)) and np.all(np.isfinite(right)):
            values.append((left, right))
    if not values or one.numel() > two.numel() or (one.numel() < two.numel() and not part):
        return float("nan") if not values else float("inf")
    left, right = (np.array([pair[k] for pair in values]).T for k in (0, 1))
    worst = 0.0
    for row in left:
        scale = max(1.0, float(np.abs(row).max()))
        worst = max(worst, min(float(np.abs(row - sign * other).max()) / scale for other in right for sign in (1, -1)))
    return worst


def reduction_steps(model: Model, stabilise: str | None = "projection", alpha: object = None) -> list[DerivationStep]:
    """The steps of `dd.reduce`."""
    if stabilise not in STABILISATIONS:
        raise InputError(
            f"stabilise={stabilise!r} is not valid.",
            because="it sets how the constraints are kept.",
            remedy='"projection", "baumgarte", "ggl", "dummy_derivatives" or None',
        )
    try:
        steps = ReductionSteps(model, stabilise, alpha)
    except SingularModelError:
        # More constraints than unknowns in them: `dd.reduce` keeps independent ones.
        return _redundant_steps(model, stabilise)
    return list(steps.steps())


def _redundant_steps(model: Model, stabilise: str | None) -> list[DerivationStep]:
    """The steps of a model whose constraints are redundant by their structure: what is kept, and the final system."""
    reduced = reduce(model, stabilise=stabilise)
    own = Reading(reduced)
    told = " ".join(f"{str(finding)[:1].upper()}{str(finding)[1:]}." for finding in _redundancies(reduced))
    free = counted(reduced.reduction.degrees_of_freedom, "start value")
    text = f"{told} Solutions obey these constraints, written and hidden ones; {free} may be chosen freely."
    kept = concatenate(reduced.constraints.values())
    lines = [own.equation(e, solve=False) for e in elements(own.short(kept))]
    short = concatenate(line.residual for line in lines)
    hidden = own.step(PART, "hidden constraints", text, [], lines, _same_set(short, kept, own.usual))
    return [hidden, final_system(reduced, "With these the equations are:")]


def is_redundant(model: Model) -> bool:
    """Whether a model is reduced to independent ones of its constraints."""
    try:
        return bool(_redundancies(reduce(model)))
    except DaedalusError:
        return False
