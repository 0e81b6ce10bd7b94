"""A linear system along a run: E(t) δx' = A(t) δx + B(t) δu, δy = C(t) δx + D(t) δu on the run's dense output.

To first order it says how the run would have gone with another start or other inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.analysis.linear.linearisation import Linearisation, linearised
from daedalus.analysis.linear.responses.linear_response import start_numbers
from daedalus.analysis.linear.responses.radau_propagation import ORDER, Slopes, propagate
from daedalus.analysis.linear.responses.response import Response, with_units
from daedalus.analysis.points.complete_point import complete_point, linked_states
from daedalus.analysis.points.jumping_point import decides, jumping_equations, refuse_jump
from daedalus.analysis.points.partial_derivatives import output_labels, partial_derivatives
from daedalus.analysis.structure.jets.differentiated_equations import is_determined
from daedalus.errors import InputError, SolverError
from daedalus.model.input_rates import refuse_rates
from daedalus.model.names import counted, listed
from daedalus.model.plain_numbers import plain_number, plain_times
from daedalus.model.signals import Signal
from daedalus.model.system.named_vectors import Place
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS, LETTERS
from daedalus.model.values import check_mapping, flat_values, wrong_kind

# Steps are halved at most so often, until halving no longer changes the result.
HALVINGS = 8
HIGH_INDEX = "index above 1: the algebraic variables contain derivatives of the run and are good to a few digits"


class LinearTimeVarying:
    """The result of `dd.linearise(m, along=tr)`: the linearisation of a model along a run.

    Attributes: `system`, `run`, `states`, `inputs`, `outputs` (names), `span` (first and last time).

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("logistic")
    >>> x = m.state("x", start=0.1)
    >>> m.equation(m.der(x), x * (1 - x))
    >>> tr = dd.simulate(m, 5.0, rtol=1e-10)
    >>> ltv = dd.linearise(m, along=tr)
    >>> bool(abs(ltv.at(2.0).A[0, 0] - (1 - 2 * tr.at(2.0)["x"])) < 1e-12)
    True
    >>> other = dd.simulate(m, 5.0, start={"x": 0.1001}, rtol=1e-10)
    >>> change = ltv.respond(start={"x": 0.0001})["x"][-1]
    >>> bool(abs(other["x"][-1] - tr["x"][-1] - change) < 1e-3 * abs(change))
    True
    """

    def __init__(self, system: System, run: Any) -> None:
        if not all(hasattr(run, name) for name in ("time", "at", "__getitem__")):
            raise InputError(
                "along= takes a run.",
                f"got {type(run).__name__}",
                remedy="tr = dd.simulate(m, ...); dd.linearise(m, along=tr)",
            )
        self.system, self.run = system, run
        self.states = (*system.labels["x"], *system.labels["z"])
        refuse_rates(system, "A linearisation along a run")
        self.inputs = system.labels["u"]
        self.outputs = output_labels(system) or self.states
        self.span = (float(run.time[0]), float(run.time[-1]))

    def __repr__(self) -> str:
        axes = ((self.states, "state"), (self.inputs, "input"), (self.outputs, "output"))
        sizes = ", ".join(counted(len(names), word) for names, word in axes)
        return f"LinearTimeVarying({self.system.name!r}: {sizes}, t = {self.span[0]:g} to {self.span[1]:g})"

    def _repr_html_(self) -> str:
        from daedalus.display.cards.tool_cards import words_card

        labels = {"states": self.states, "inputs": tuple(self.inputs), "outputs": tuple(self.outputs)}
        return words_card(f"{self.system.name}: linear along a run", repr(self), labels)

    # -- matrices ----------------------------------------------------------------------------------------------

    def at(self, t: float) -> Linearisation:
        """The descriptor system at one time; at the time of a jump the later one."""
        moment = np.array([plain_number(t, "The time of at()", "s")])
        vectors = {letter: values[0] for letter, values in self._moments(moment).items()}
        point, notes = complete_point(self.system, vectors)
        refuse_jump(self.system, point)
        return linearised(self.system, point, notes, along_run=True)

    def E(self, t: object) -> np.ndarray:
        """E at a time, or stacked along the first axis for an array of times; A, B, C, D alike."""
        return self._stacked("E", t)

    def A(self, t: object) -> np.ndarray:
        """A at a time, or stacked for an array of times."""
        return self._stacked("A", t)

    def B(self, t: object) -> np.ndarray:
        """B at a time, or stacked for an array of times."""
        return self._stacked("B", t)

    def C(self, t: object) -> np.ndarray:
        """C at a time, or stacked for an array of times."""
        return self._stacked("C", t)

    def D(self, t: object) -> np.ndarray:
        """D at a time, or stacked for an array of times."""
        return self._stacked("D", t)

    def _stacked(self, name: str, t: object) -> np.ndarray:
        times = plain_times(t, "The times")
        if times.ndim == 0:
            return getattr(self.at(float(times)), name)
        return np.array([getattr(self.at(float(moment)), name) for moment in times])

    def _moments(self, times: np.ndarray) -> dict[str, np.ndarray]:
        """t, xdot, x, z, u, p of the run at times, each (k, size)."""
        samples, count = self.run.at(times), len(times)
        moments = {letter: np.full((count, self.system.sizes[letter]), np.nan) for letter in LETTERS}
        for name, place in self.system.places.items():
            if name in samples:
                values = np.asarray(samples[name], dtype=float)
                flat = (values.swapaxes(1, 2) if values.ndim == 3 else values).reshape(count, -1)
                for letter, k, entries in zip(place.letters, place.positions, flat.T):
                    moments[letter][:, k] = entries
        for k, state in linked_states(self.system):
            moments["xdot"][:, k] = moments["x"][:, state]
        for letter in ("x", "u", "p"):
            absent = np.flatnonzero(np.isnan(moments[letter]).any(axis=0))
            if len(absent):
                raise InputError(
                    f"The run has no values of {listed([self.system.labels[letter][k] for k in absent])}.",
                    because="it is a run of another model.",
                    remedy="dd.linearise(tr.system, along=tr)",
                )
        return {**moments, "t": times[:, None]}

    # -- small deviations --------------------------------------------------------------------------------------

    def respond(
        self,
        times: object = None,
        inputs: Mapping[str, object] | None = None,
        start: object = None,
        rtol: float | None = None,
    ) -> Response:
        """How the run changes, to first order, when its start and inputs change a little.

        Parameters
        ----------
        times: where to give the change, in order; the first is where `start` counts. All steps of the run by default.
        inputs: changes of the inputs by name: numbers, functions of time, tables `dd.signal`; others do not change.
        start: changes of states by name, or of all states in their order. On a constrained model they must keep the
            constraints.
        rtol: halving the steps changes the result by less than this, relative to its largest values; 1e-8 unless
            given. For an index above 1 it counts for the states only and is 1e-6: the algebraic variables then contain
            derivatives of the dense output, and are good to a few digits.

        Raises a SolverError where the equations leave a derivative undetermined, and an InputError when the run jumps
        on the way: a change of the start moves the time of the jump, which the matrices do not tell.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("integrator")
        >>> x = m.state("x", start=1.0); u = m.input("u")
        >>> m.equation(m.der(x), x * u)
        >>> ltv = dd.linearise(m, along=dd.simulate(m, 1.0, inputs={"u": 0.0}))
        >>> ltv.respond([0.0, 0.5, 1.0], inputs={"u": 0.01})["x"].round(6).tolist()
        [0.0, 0.005, 0.01]
        >>> ltv.respond([0.0, 1.0], start=[0.1])["x"].round(6).tolist()
        [0.1, 0.1]
        """
        asked = np.atleast_1d(np.asarray(self.run.time if times is None else times, dtype=float))
        asked = asked[np.concatenate([[True], np.diff(asked) != 0])]
        self._check_times(asked)
        changes, breaks = self._input_changes(inputs)
        w = self._propagated(self._slopes(changes), self._knots(asked, breaks), self._start_change(start), rtol, asked)
        u, notes = changes(asked), () if is_determined(self.system) else (HIGH_INDEX,)
        outputs = self._read_out(asked, w, u)
        found = Response(asked, w, u, outputs, self.states, self.inputs, self.outputs, notes)
        return with_units(found, self.system)

    def _propagated(
        self, slopes_at: Any, knots: np.ndarray, x0: np.ndarray, rtol: float | None, asked: np.ndarray
    ) -> np.ndarray:
        """The changes of (x, z) at the times asked for, with steps halved until that changes nothing."""
        low_index = is_determined(self.system)
        rtol = (1e-8 if low_index else 1e-6) if rtol is None else rtol
        # Halving shows the error times 2^order - 1; with a higher index the order of some states is 3 or less.
        allowed = rtol * (2**ORDER - 1 if low_index else 3)
        try:
            first = self._first_value(slopes_at, asked[0], x0)
            if len(knots) == 1:
                return first[None, :]
            values = propagate(slopes_at, knots, x0)
            for halving in range(1, HALVINGS + 1):
                parts = 2**halving
                finer = propagate(slopes_at, _divided(knots, parts), x0)[parts - 1 :: parts]
                gap, values = self._distance(values, finer), finer
                if gap <= allowed:
                    break
            else:
                raise SolverError(
                    f"The change of {self.system.name!r} could not be computed to rtol = {rtol:g}.",
                    f"halving the steps {HALVINGS} times still changed it by {gap:.3g}",
                    because="the linear system varies too fast, or the start contradicts its constraints.",
                    remedy="a run with a smaller rtol, or respond(..., rtol=1e-6)",
                )
        except np.linalg.LinAlgError:
            raise SolverError(
                f"The linear system along the run of {self.system.name!r} does not determine its solution.",
                "the matrix of a step is singular",
                because="some derivative or algebraic variable is left undetermined there.",
                remedy="dd.reduce(m), which differentiates the constraints",
            ) from None
        sign = 1.0 if knots[-1] >= knots[0] else -1.0
        return np.vstack([first, values])[np.searchsorted(sign * knots, sign * asked)]

    def _read_out(self, times: np.ndarray, w: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The changes of the outputs at the times."""
        if self.outputs is self.states:
            return w.copy()
        rows = []
        for t, w_now, u_now in zip(times, w, u):
            lin = self.at(float(t))
            if lin.A.shape[1] > len(w_now):
                raise SolverError(
                    f"The outputs of {self.system.name!r} contain derivatives that its equations do not determine.",
                    f"they are {listed(lin.states[len(w_now) :])}",
                    because="the equations have to be differentiated first.",
                    remedy="dd.reduce(m), or a model without these outputs",
                )
            rows.append(lin.C @ w_now + lin.D @ u_now)
        return np.array(rows)

    def _check_times(self, asked: np.ndarray) -> None:
        steps, low, high = np.diff(asked), min(self.span), max(self.span)
        if not np.all(np.isfinite(asked)) or (np.any(steps > 0) and np.any(steps < 0)):
            raise InputError("The times are not in order.", remedy="increasing (or decreasing) times within the run")
        if asked.min() < low - 1e-12 * abs(low) or asked.max() > high + 1e-12 * abs(high):
            raise InputError(
                "The run does not reach these times.",
                f"it covers t = {low:g} to {high:g}; asked for {asked.min():g} to {asked.max():g}",
                remedy="times within the run",
            )
        told = self._jump_between(float(asked.min()), float(asked.max()))
        if told:
            raise InputError(
                "The run jumps between these times.",
                told,
                because="a small change of the start also changes the time of the jump, or what is assigned at it.",
                remedy="times between two events, or dd.sensitivities, which goes through them",
            )

    def _jump_between(self, low: float, high: float) -> str | None:
        """What jumps in the run between two times: an event, a discrete variable, or the equations at a condition."""
        acting = {e.name for e in self.system.events if e.resets}
        acting.update(name for e in self.system.events if e.manner.contact for name in e.manner.contact.happenings)
        for event in getattr(self.run, "events", ()):
            if event.name in acting and low < event.time < high:
                return f"event {event.name} at t = {event.time:g}"
        times = np.unique(np.asarray(self.run.time, dtype=float))
        inside = times[(times > low) & (times < high)]
        if not len(inside):
            return None
        for variable in self.system.of_kind("discrete"):
            values = np.asarray(self.run.at(np.concatenate([[low], inside]))[variable.name]).reshape(
                1 + len(inside), -1
            )
            changed = np.flatnonzero(np.any(np.diff(values, axis=0) != 0, axis=1))
            if len(changed):
                return f"{variable.name} is assigned at t = {inside[changed[0]]:g}"
        if not decides(self.system):
            return None
        moments = self._moments(inside)
        for k, t in enumerate(inside):
            at = {letter: np.nan_to_num(values[k]) for letter, values in moments.items()}
            if found := jumping_equations(self.system, at):
                return f"{listed(found)} at t = {t:g}"
        return None

    def _input_changes(self, inputs: Mapping[str, object] | None) -> tuple[Any, list[np.ndarray]]:
        """δu(t) as a function of times (k,) -> (k, nu), and the times where it jumps or bends."""
        constant = np.zeros(self.system.sizes["u"])
        moving: list[tuple[Place, Any]] = []
        breaks: list[np.ndarray] = []
        for name, value in check_mapping(inputs, "inputs").items():
            place = self.system.place(name)
            if place.letter != "u":
                raise wrong_kind(self.system, name, place, "an input")
            if callable(value):
                moving.append((place, value))
                breaks += [value.times] if isinstance(value, Signal) else []
            else:
                constant[place.positions] = flat_values(place, value, "value")

        def changes(times: np.ndarray) -> np.ndarray:
            u = np.tile(constant, (len(times), 1))
            for place, function in moving:
                u[:, place.positions] = [np.ravel(np.asarray(function(float(t)), float), order="F") for t in times]
            return u

        return changes, breaks

    def _start_change(self, start: object) -> np.ndarray:
        x0 = np.zeros(self.system.sizes["x"])
        if start is not None and not isinstance(start, Mapping) and not isinstance(start, str):
            given = np.atleast_1d(np.asarray(start, dtype=object)).ravel()
            # Algebraic variables, which `states` lists behind the differential ones, follow.
            own = given[: len(x0)] if len(given) == len(self.states) else start
            names = f"one for each of {listed(self.system.labels['x'], 8)}"
            x0[:] = start_numbers(own, len(x0), "the states", names)
            return x0
        for name, value in check_mapping(start, "start").items():
            place = self.system.place(name)
            if place.letter != "x":
                raise wrong_kind(self.system, name, place, "a state")
            x0[place.positions] = flat_values(place, value, "value")
        return x0

    def _knots(self, asked: np.ndarray, breaks: list[np.ndarray]) -> np.ndarray:
        """The steps of the run, the times asked for, and the breaks of the inputs, in the direction asked for."""
        dense = getattr(self.run, "dense", None)
        own = np.concatenate([dense.starts, dense.ends]) if dense is not None else np.asarray(self.run.time)
        low, high = asked.min(), asked.max()
        between = np.unique(np.concatenate([own, *breaks]))
        # Breaks within rounding of an asked time are that time.
        between = between[(between > low) & (between < high)]
        near = np.min(np.abs(between[:, None] - asked[None, :]), axis=1, initial=np.inf)
        knots = np.unique(np.concatenate([asked, between[near > 1e-12 * max(abs(low), abs(high))]]))
        return knots if asked[-1] >= asked[0] else knots[::-1]

    def _slopes(self, changes: Any) -> Any:
        derivatives, n = partial_derivatives(self.system), self.system.sizes["x"]

        def slopes_at(times: np.ndarray) -> Slopes:
            moments = self._moments(times)
            if np.isnan(moments["xdot"]).any() or np.isnan(moments["z"]).any():
                for k in range(len(times)):
                    row = {letter: values[k] for letter, values in moments.items()}
                    point, _ = complete_point(self.system, row)
                    for letter in ("xdot", "z"):
                        moments[letter][k] = point.vectors[letter]
            _, slopes = derivatives.equations_many([np.ascontiguousarray(moments[letter]) for letter in ARGUMENTS])
            A = -np.concatenate([slopes["x"], slopes["z"]], axis=2)
            return Slopes(slopes["xdot"][:, :, :n], A, -np.einsum("kij,kj->ki", slopes["u"], changes(times)))

        return slopes_at

    def _distance(self, coarse: np.ndarray, fine: np.ndarray) -> float:
        """The largest difference relative to the largest value of each variable, small ones in nominal sizes."""
        nominal = np.concatenate([self.system.nominal["x"], self.system.nominal["z"]])
        if not is_determined(self.system):
            nominal = self.system.nominal["x"]
            coarse, fine = coarse[:, : len(nominal)], fine[:, : len(nominal)]
        largest = np.abs(fine).max(axis=0, initial=0.0)
        floor = 1e-3 * (largest / nominal).max(initial=0.0) * nominal
        scale = np.maximum(largest, floor)
        gap = np.abs(fine - coarse).max(axis=0, initial=0.0)
        return float(np.max(gap / np.where(scale > 0, scale, 1.0), initial=0.0))

    def _first_value(self, slopes_at: Any, t: float, x0: np.ndarray) -> np.ndarray:
        """δx with the algebraic changes that belong to it at the first time."""
        slopes, n = slopes_at(np.array([t])), len(x0)
        matrix = np.hstack([slopes.E[0], -slopes.A[0][:, n:]])
        return np.append(x0, np.linalg.lstsq(matrix, slopes.A[0][:, :n] @ x0 + slopes.f[0], rcond=None)[0][n:])


def _divided(knots: np.ndarray, parts: int) -> np.ndarray:
    """Every step in equal parts; the knots themselves stay as they are."""
    shares = np.arange(parts) / parts
    inner = knots[:-1, None] + np.diff(knots)[:, None] * shares
    return np.append(inner.ravel(), knots[-1])
