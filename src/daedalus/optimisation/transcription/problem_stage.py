"""The stage of a problem: its states, unknowns and inputs with what the problem adds to those of the model.

An integral adds a state, an input that moves linearly becomes a state whose slope is chosen, and time is the start plus
a share σ of the duration T, so that a free duration is a variable like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.optimisation.description.description import Description, StandIn
from daedalus.optimisation.transcription.inputs_at_points import moving_formula
from daedalus.optimisation.transcription.smooth_parts import SmoothParts, signs_of_integrals, smooth_parts
from daedalus.optimisation.transcription.usual_sizes import usual_inputs, usual_states


@dataclass(frozen=True, eq=False)
class Quantity:
    """A vector of the stage: symbols, names, usual sizes and bounds."""

    symbols: ca.SX
    labels: tuple[str, ...]
    nominal: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Copies:
    """Symbols for the values at one end of the horizon."""

    states: ca.SX
    unknowns: ca.SX
    inputs: ca.SX
    given: ca.SX
    share: ca.SX


@dataclass(frozen=True, eq=False)
class ProblemStage:
    """x' = rates, 0 = equations of (σ, T, states, unknowns, inputs, given, parameters).

    The first `model_states` states are those of the model, then linear inputs (`linear`: their positions among the
    model's inputs), then integrals. The inputs are the constant ones (`constant`: their positions), then the slopes,
    then the bounds that stand in the place of kinks.
    """

    description: Description
    states: Quantity
    unknowns: Quantity
    inputs: Quantity
    given: ca.SX
    given_positions: tuple[int, ...]
    parameters: ca.SX
    share: ca.SX
    rates: ca.SX
    equations: ca.SX
    model_states: int
    linear: tuple[int, ...]
    constant: tuple[int, ...]
    start: Copies
    end: Copies
    moving: tuple[ca.SX, ca.SX]  # given inputs that are formulas of time
    sides: ca.SX  # of kinks of held inputs: what may not be positive, once an interval

    @property
    def carried(self) -> list[int]:
        """The states that go on from one interval to the next: all but the running cost of shooting, the last one."""
        return list(range(self.states.size - (not self.description.integrated.is_zero())))

    @property
    def length(self) -> ca.SX:
        """The symbol of the duration."""
        return self.description.length

    def expression(self, written: ca.SX) -> ca.SX:
        """An expression of the user at a point: derivatives put in, time as a share, values of the ends as copies."""
        found = self._at_point(written)
        used = {symbol_key(s) for s in ca.symvar(found)}
        for stand_in in self.description.stand_ins:
            if not used & {symbol_key(s) for s in elements(stand_in.symbol)}:
                continue
            found = ca.substitute([found], [stand_in.symbol], [self._elsewhere(stand_in)])[0]
        return ca.densify(found)

    def _at_point(self, written: ca.SX) -> ca.SX:
        description = self.description
        time = description.begin + self.length * self.share
        found = description.form.applied(written)
        found = ca.substitute([found], [description.form.damping], [description.damping / self.length])[0]
        if self.moving[0].numel():
            found = ca.substitute([found], [self.moving[0]], [self.moving[1]])[0]
        return ca.substitute([found], [description.system.symbol("t")], [time])[0]

    def _elsewhere(self, stand_in: StandIn) -> ca.SX:
        if stand_in.where == "integral":
            integrals = self.description.integrals
            before = sum(s.symbol.numel() for s in integrals[: integrals.index(stand_in)])
            place = self.model_states + len(self.linear) + before
            return self.end.states[place : place + stand_in.symbol.numel()]
        copies = self.start if stand_in.where == "start" else self.end
        found = self._at_point(stand_in.expression)
        inputs = self.inputs.symbols[: copies.inputs.numel()]
        old = [self.states.symbols, self.unknowns.symbols, inputs, self.given, self.share]
        new = [copies.states, copies.unknowns, copies.inputs, copies.given, copies.share]
        return ca.substitute([found], old, new)[0]


def stage_of(description: Description, formulas: bool = False, held_kinks: bool = False) -> ProblemStage:
    """The stage of a problem; `formulas`: given inputs that move are formulas of time wherever they can be.

    held_kinks: bounds in the place of kinks of held inputs in integrals are inputs of the stage.
    """
    system, form = description.system, description.form
    chosen, u = description.chosen, system.symbol("u")
    linear = tuple(k for k in chosen if k in description.kinds and description.kinds[k].kind == "linear")
    constant = tuple(k for k in chosen if k not in linear)
    slopes = ca.vertcat(*(ca.SX.sym(f"slope_{k}") for k in linear)) if linear else ca.SX(0, 1)
    integrals = description.integrals
    totals = concatenate(ca.SX.sym("total", s.symbol.numel()) for s in integrals)
    share = ca.SX.sym("share")
    states = _states(description, linear, totals)
    moving = _moving(description, formulas)
    moved = {k for positions, _ in moving for k in positions}
    given = tuple(sorted(k for k in description.given if k not in moved))
    draft = ProblemStage(
        description,
        states,
        _unknowns(description),
        _inputs(description, constant, linear, slopes),
        u[list(given)] if given else ca.SX(0, 1),
        given,
        system.symbol("p"),
        share,
        ca.SX(0, 1),
        ca.SX(0, 1),
        system.sizes["x"],
        linear,
        constant,
        _copies("start", states.size, form.unknowns.numel(), len(chosen), len(given)),
        _copies("end", states.size, form.unknowns.numel(), len(chosen), len(given)),
        (concatenate(u[list(positions)] for positions, _ in moving), concatenate(formula for _, formula in moving)),
        ca.SX(0, 1),
    )
    grown = elements(concatenate(draft.expression(s.expression) for s in integrals))
    if held_kinks:
        within = concatenate([u[list(constant)] if constant else ca.SX(0, 1), draft.parameters])
        smooth = smooth_parts(description, share, None, grown, signs_of_integrals(description), within)
        draft, grown = replace(draft, inputs=_with_bounds(draft.inputs, smooth), sides=smooth.sides), smooth.parts
    rates = concatenate([draft.expression(form.rates), slopes, *grown])
    return replace(draft, rates=ca.densify(rates), equations=draft.expression(form.equations))


def _with_bounds(inputs: Quantity, smooth: SmoothParts) -> Quantity:
    """Inputs with the bounds of kinks behind them."""
    count = smooth.bounds.numel()
    labels = tuple(f"bound of kink {k + 1}" for k in range(count))
    return Quantity(
        concatenate([inputs.symbols, smooth.bounds]), inputs.labels + labels,
        np.concatenate([inputs.nominal, np.ones(count)]), np.concatenate([inputs.lower, smooth.lower]),
        np.concatenate([inputs.upper, np.full(count, np.inf)]),
    )  # fmt: skip


def _moving(description: Description, always: bool) -> list[tuple[tuple[int, ...], ca.SX]]:
    """Given inputs that have to be formulas of time, because the duration is unknown."""
    labels = description.system.labels["u"]
    formulas = [
        (positions, moving_formula(description, value, labels[positions[0]], always))
        for positions, value in description.given_names
    ]
    return [(positions, formula) for positions, formula in formulas if formula is not None]


def _quantity(description: Description, symbols: ca.SX, labels: Sequence[str], nominal: np.ndarray) -> Quantity:
    limits = [description.bounds.get(symbol_key(s), (-np.inf, np.inf)) for s in elements(symbols)]
    lower, upper = np.array(limits, dtype=float).reshape(-1, 2).T.copy()
    return Quantity(symbols, tuple(labels), np.asarray(nominal, dtype=float), lower, upper)


def _states(description: Description, linear: Sequence[int], totals: ca.SX) -> Quantity:
    system = description.system
    symbols = concatenate([system.symbol("x"), system.symbol("u")[list(linear)] if linear else ca.SX(0, 1), totals])
    labels = [*system.labels["x"], *(system.labels["u"][k] for k in linear), *["integral"] * totals.numel()]
    inputs = usual_inputs(description)[list(linear)]
    nominal = np.concatenate([usual_states(description), inputs, np.ones(totals.numel())])
    return _quantity(description, symbols, labels, nominal)


def _unknowns(description: Description) -> Quantity:
    system, form = description.system, description.form
    nominal = np.concatenate([system.nominal["z"], system.nominal["x"][list(form.waiting)]])
    return _quantity(description, form.unknowns, form.labels, nominal)


def _inputs(description: Description, constant: Sequence[int], linear: Sequence[int], slopes: ca.SX) -> Quantity:
    system = description.system
    held = system.symbol("u")[list(constant)] if constant else ca.SX(0, 1)
    labels = [system.labels["u"][k] for k in constant] + [f"slope of {system.labels['u'][k]}" for k in linear]
    nominal = usual_inputs(description)[[*constant, *linear]]
    found = _quantity(description, concatenate([held, slopes]), labels, nominal)
    for place, k in enumerate(linear, start=len(constant)):
        kind = description.kinds[k]
        found.lower[place], found.upper[place] = kind.slowest, kind.fastest
    return found


def _copies(where: str, states: int, unknowns: int, inputs: int, given: int) -> Copies:
    sizes = zip("xzuds", (states, unknowns, inputs, given, 1))
    return Copies(*(ca.SX.sym(f"{where}_{letter}", n) for letter, n in sizes))
