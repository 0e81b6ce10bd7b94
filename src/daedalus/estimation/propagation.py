"""The model of an estimator: where a state and its covariance go over an interval, and what is measured at a state.

x₊ = φ(x, u)      P₊ = Φ P Φᵀ + N      Φ = ∂φ/∂x      N = ∫ Φ(t₁, τ) Q Φ(t₁, τ)ᵀ dτ
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import casadi as ca
import numpy as np

from daedalus.algebra.newton_steps import full_newton
from daedalus.compilation import compile_function
from daedalus.differentiation.case import Case, read_case
from daedalus.differentiation.directions import read_directions
from daedalus.differentiation.result.sensitivity_result import Sensitivities
from daedalus.differentiation.sensitivities import sensitivities
from daedalus.differentiation.variational.chain_rule import expression_of
from daedalus.differentiation.variational.implicit_slopes import ImplicitSlopes
from daedalus.differentiation.variational.tangent_start import tangent_start
from daedalus.errors import DaedalusError, InputError
from daedalus.estimation.held_flow import HeldFlow, Propagated, held_flow
from daedalus.estimation.noisy_run import noisy_run
from daedalus.model.expressions import column
from daedalus.model.model import Model, as_system
from daedalus.model.names import listed, split_index
from daedalus.model.plain_numbers import plain_vector
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping, flat_values, unit_of

# A measurement may lead far off the constraints; each correction squares what is left.
CORRECTIONS = 6
SETTLED = 1e-15


class Propagation:
    """Runs over intervals with their covariance, outputs with derivatives, and the way onto the constraints.

    Inputs are held over an interval, and it is stepped through in the core; models with events or jumps, without
    formulas, or driven by signals are run with their sensitivities. `open_inputs` have no value but those of a call.
    """

    def __init__(
        self, model: Model | System, outputs: Sequence[str], every: float, start: Any, options: Mapping[str, Any]
    ) -> None:
        self._made = (model, tuple(outputs), every, start, dict(options))
        self._begun_with: np.ndarray | None = None
        self.model, self.every, self._start = model, every, start
        self._inputs = dict(check_mapping(options.get("inputs"), "inputs"))
        self._options = {"rtol": 1e-8, "atol": 1e-10, **options, "inputs": None}
        given = {split_index(name)[0] for name in self._inputs}
        self._left = [v for v in as_system(model).of_kind("input") if v.name not in given]
        self._case = self._first_case()
        self.system = self._case.system
        self.labels = {letter: self.system.labels[letter] for letter in ("x", "u")}
        own = {v.name for v in self._left}
        self.open_inputs = np.array([split_index(label)[0] in own for label in self.labels["u"]], dtype=bool)
        self._refuse_held_rates()
        self._begin()
        self._flow = held_flow(self._case)
        projection = self._case.plant.projection
        self._projection = None if projection is None else projection.core
        self._outputs = measured_outputs(self._case, outputs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _propagation_again, (self._made, self._begun_with)

    def _first_case(self) -> Any:
        """The case at the start; inputs that come with the call are zero, or of their usual size, until then."""
        try:
            return self._case_with({v.name: np.zeros(v.shape) for v in self._left})
        except DaedalusError:
            if not self._left:
                raise
            return self._case_with({v.name: np.reshape(v.nominal or 1.0, v.shape) for v in self._left})

    def _refuse_held_rates(self) -> None:
        """Inputs that the model differentiates are put into it; with values that are held they cannot be."""
        kept = {split_index(label)[0] for label in self.labels["u"]}
        lost = [v.name for v in self._left if v.name not in kept]
        if lost:
            raise InputError(
                f"The input {lost[0]} is held between calls, and the model differentiates it.",
                f"model {self.system.name!r}, inputs without a value of their own: {listed(lost)}",
                because="each change of a held value would become an impulse.",
                remedy=f"inputs={{{lost[0]!r}: lambda t: ...}}, or a filter, m.equation(T * m.der(y) + y, {lost[0]}) "
                f"with the state y in the place of {lost[0]}",
            )

    def _case_with(self, inputs: Mapping[str, object]) -> Any:
        options = {**self._options, "start": self._start, "inputs": {**self._inputs, **inputs} or None}
        return read_case(self.model, (0.0, self.every), options)

    def _begin(self) -> None:
        directions = read_directions(self._case.system, "start", 0)
        self.start, self.tangent = np.array(self._case.x0), tangent_start(self._case, directions, 1).projector
        modes = np.setdiff1d(np.arange(len(self.start)), np.array(directions.x, dtype=int))
        self.tangent[modes] = 0.0
        self.tangent[:, modes] = 0.0

    @property
    def case(self) -> Case:
        """The model at its start, with the values of the options."""
        return self._case

    @property
    def flow(self) -> HeldFlow | None:
        """The steps over an interval; None where the model is run with its sensitivities."""
        return self._flow

    @property
    def rests(self) -> np.ndarray:
        """The places of discrete variables in the state: only instants change them."""
        return self._case.rests

    @property
    def keeps(self) -> bool:
        """Whether corrected states are moved onto constraints or invariants."""
        return self._projection is not None

    def begin_with(self, u: np.ndarray) -> None:
        """Find the start anew with the inputs of the first call, where they decide about it."""
        if not np.any(self.open_inputs) or not self.system.constrains_start:
            return
        self._begun_with = np.asarray(u, dtype=float)
        held = dict(zip(self.labels["u"], self._begun_with.tolist()))
        self._case = self._case_with(held)
        self._begin()

    def over(
        self, t: float, length: float, x: np.ndarray, covariance: np.ndarray, u: np.ndarray | None, density: np.ndarray
    ) -> Propagated:
        """What becomes of x and its covariance with inputs held, and with noise of a spectral density on the way."""
        if length == 0.0:
            return Propagated(x, covariance, np.eye(len(x)), np.zeros_like(density))
        if u is None and np.any(self.open_inputs):
            raise self._no_inputs()
        if self._flow is not None:
            return self._flow.carry(t, length, x, covariance, self.held(t, u), density)
        inputs = {} if u is None else dict(zip(self.labels["u"], np.asarray(u, dtype=float).tolist()))

        def run(begin: float, duration: float, state: np.ndarray) -> Sensitivities:
            options = {**self._options, "inputs": {**self._inputs, **inputs} or None}
            options["start"] = dict(zip(self.labels["x"], state.tolist()))
            return sensitivities(self.model, (begin, begin + duration), wrt="start", **options)

        return noisy_run(run, t, length, x, covariance, density, self._ticks)

    def _ticks(self, t: float) -> bool:
        """Whether a clock or a schedule acts at a time."""
        schedules = (event.manner.schedule for event in as_system(self.model).events)
        return any(schedule is not None and len(schedule.ticks(t, t)) for schedule in schedules)

    def measured(self, t: float, x: np.ndarray, u: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The outputs at a state, below each other, and their derivative by it."""
        if u is None and np.any(self.open_inputs) and self._outputs.needs_inputs:
            raise self._no_inputs()
        return self._outputs(t, x, self.held(t, u))

    def outputs_count(self) -> int:
        """How many numbers are measured."""
        return len(self._outputs(0.0, self.start, self._case.u0)[0])

    def kept(self, t: float, x: np.ndarray, u: np.ndarray | None) -> np.ndarray:
        """The state moved onto the constraints and invariants of the model, the norm of a quaternion among them."""
        projection = self._projection
        if projection is None:
            return x
        n, at, held = len(x), np.array([[t]]), self.held(t, u)[None, :]
        row = x[None, :] if self._case.has_formulas else self._case.row_at(t, x)[None, :]

        def correction(row: np.ndarray) -> np.ndarray:
            return np.asarray(projection.evaluate_many(at, row, held, self._case.p)[0] - row)

        def length(step: np.ndarray, row: np.ndarray) -> float:
            return float(np.abs(step[:, :n]).max())

        done = full_newton(correction, row, length, most=CORRECTIONS, tolerance=SETTLED)
        return done.values[0, :n] if np.all(np.isfinite(done.values)) else x

    def held(self, t: float, u: np.ndarray | None) -> np.ndarray:
        """The inputs at a time: those that are held, else those of the options."""
        return self._case.u_at(t) if u is None else u

    def inputs_of(self, u: object, before: np.ndarray | None, t: float) -> np.ndarray:
        """The inputs of a call, in the order of `labels["u"]`: a vector, or values by name beside those that hold."""
        labels, system = self.labels["u"], self.system
        if not isinstance(u, Mapping):
            held = plain_vector(u, "The inputs", labels, [unit_of(system, label) for label in labels])
            if held.shape != (len(labels),):
                raise InputError(
                    "The inputs do not fit.", f"got {held.size} numbers for {listed(labels) or 'no inputs'}"
                )
            return held
        held = np.array(self.held(t, before), dtype=float)
        if before is None:
            held[self.open_inputs] = np.nan
        for name, value in u.items():
            place = system.place(name)
            if place.letter != "u":
                raise InputError(
                    f"{name} is not an input.", f"inputs are {listed(labels)}", remedy=f"{{{labels[0]!r}: 0.0}}"
                )
            held[place.positions] = flat_values(place, value, "value")
        if np.any(np.isnan(held)):
            raise self._no_inputs()
        return held

    def _no_inputs(self) -> InputError:
        names = [v.name for v in self._left]
        return InputError(
            f"The estimator has no value of {listed(names)}.",
            "neither inputs= nor a call so far gives one",
            because="the model is run with it from one call to the next.",
            remedy=f"x = estimator(y, u) with {listed(self.labels['u'])} in u, or inputs={{{names[0]!r}: 0.0}}",
        )


# What an estimator measures, at a state: the outputs below each other, and their derivative by the state.


class Outputs(Protocol):
    """Outputs of a case at any state and inputs."""

    needs_inputs: bool

    def __call__(self, t: float, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values, and their derivative by x."""


def measured_outputs(case: Case, names: Sequence[str]) -> Outputs:
    """The outputs of a case by formulas where x' and z have some, else by a solve at each state."""
    whole = ca.vertcat(*(column(expression_of(case.system, name)[0]) for name in names))
    return _ByFormulas(case, whole) if case.has_formulas else _BySolve(case, whole)


class _ByFormulas:
    """One compiled function of (t, x, u, p)."""

    def __init__(self, case: Case, outputs: ca.SX) -> None:
        system = case.system
        values = case.form.applied(system, outputs)
        # By rows, as the core reads matrices.
        slopes = ca.vec(ca.densify(ca.jacobian(values, system.symbol("x"))).T)
        arguments = system.symbols(("t", "x", "u", "p"))
        self._function = compile_function(ca.Function("measured", arguments, [values, slopes])).core
        self._p = case.p
        self.needs_inputs = bool(ca.depends_on(values, system.symbol("u")))

    def __call__(self, t: float, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = self._function(np.array([t]), x, u, self._p)
        return values, slopes.reshape(len(values), len(x))


class _BySolve:
    """x' and z are solved for at the state, and the outputs follow by the implicit function theorem."""

    def __init__(self, case: Case, outputs: ca.SX) -> None:
        self._case, self._slopes = case, ImplicitSlopes(case.system, outputs)
        self.needs_inputs = bool(case.system.sizes["u"])

    def __call__(self, t: float, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        held = self._case.drive._replace(constants=np.asarray(u, dtype=float), tables=(), callbacks=())
        row = replace(self._case, drive=held).row_at(t, x)
        values, by_given, _ = self._slopes.at(t, row, u, self._case.p)
        return values, by_given[:, 1 : len(x) + 1]


def _propagation_again(made: tuple[Any, ...], begun_with: np.ndarray | None) -> Propagation:
    """The model of an estimator, compiled again where it was pickled."""
    found = Propagation(*made)
    if begun_with is not None:
        found.begin_with(begun_with)
    return found
