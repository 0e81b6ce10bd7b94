"""A run as a function of arrays with its first derivatives: what functions of JAX and PyTorch call.

y = f(x0, u, p): x0 (n,) the start, u (nt - 1, nu) inputs held between the times, p (np,) parameters; y (nt, ny) at the
times. Explicit steps without events are taken and pulled back inside the core (`stepped_run.py`); the derivatives of
all other runs are those of `dd.sensitivities`, through constraints and events.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from daedalus.differentiation.sensitivities import sensitivities
from daedalus.errors import InputError
from daedalus.exchange.stepped_run import SteppedRun, stepped_run
from daedalus.model.expressions import elements
from daedalus.model.lazy_values import cached_property
from daedalus.model.mechanics.mechanics_part import refuse_touching
from daedalus.model.model import Model, as_system
from daedalus.model.names import did_you_mean, element_label, split_index
from daedalus.model.signals import signal
from daedalus.model.switching.delays import refuse_delays
from daedalus.model.system.system import System
from daedalus.simulation.prepare import prepare
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.simulate import simulate

# Second derivatives are computed by at most so many numbers, all pairs at once.
MOST_SECOND = 200
GROUPS = ("start", "inputs", "parameters")
LETTERS = {"start": "x", "inputs": "u", "parameters": "p"}


class ArrayRun:
    """A model with times, outputs and options: `values`, `slopes` and `pulled` of arrays in the order of `labels`."""

    def __init__(
        self,
        model: Model | System,
        times: object,
        outputs: str | Sequence[str] | None,
        wrt: str | Sequence[str],
        options: dict[str, Any],
        caller: str,
    ) -> None:
        self.model, self.system = model, as_system(model)
        refuse_delays(self.system, f"A function of {caller}")
        refuse_touching(self.system, f"A function of {caller}")
        self.times, self.options = _checked_times(times), _checked_options(options)
        self.wrt = _checked_groups(wrt)
        self._names = self._read_outputs(outputs)
        held = self.system.discrete_count
        known = self.system.labels
        self.labels = {
            "x": known["x"],
            "u": known["u"],
            "p": known["p"][: len(known["p"]) - held],
            "y": tuple(label for name in self._names for label in self._elements(name)),
        }

    @property
    def shape(self) -> tuple[int, int]:
        """(nt, ny) of the result."""
        return len(self.times), len(self.labels["y"])

    def _read_outputs(self, outputs: str | Sequence[str] | None) -> tuple[str, ...]:
        if outputs is None:
            return self.system.labels["x"]
        names = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        for name in names:
            if not isinstance(name, str):
                raise InputError(
                    "outputs= takes names.", f"got {type(name).__name__}", remedy='outputs=["x", "energy"]'
                )
            self._elements(name)
        if not names:
            raise InputError("outputs= is empty.", because="the function would return nothing.", remedy="outputs=None")
        return names

    def _elements(self, name: str) -> tuple[str, ...]:
        """The labels of the entries of a name, by columns."""
        if split_index(name)[1] is not None:
            return (name,)
        if name in self.system.output_names:
            value = self.system.output(name)
            shape = () if value.is_scalar() else (value.numel(),)
            return tuple(element_label(name, shape, k) for k in range(value.numel()))
        place = self.system.place(name)
        return tuple(element_label(place.name, place.shape, k) for k in range(len(place.positions)))

    # -- numbers -----------------------------------------------------------------------------------------------

    @cached_property
    def defaults(self) -> dict[str, np.ndarray]:
        """The start, inputs and parameters of the model itself; zero for inputs, NaN for what has no value."""
        count = len(self.times) - 1
        p = np.array(self.system.start["p"][: len(self.labels["p"])])
        return {"start": self._first_states(p), "inputs": np.zeros((count, len(self.labels["u"]))), "parameters": p}

    def _first_states(self, p: np.ndarray) -> np.ndarray:
        """The consistent start of the model, by a run of no length beyond its first row."""
        if not np.isnan(self.system.start["x"]).any():
            return np.array(self.system.start["x"])
        inputs = dict.fromkeys(self._inputs_by_name(np.zeros((1, len(self.labels["u"])))), 0.0)
        tiny = simulate(self.model, (self.times[0], self.times[-1]), inputs=inputs, max_steps=1, **self.options)
        return np.array([tiny[label][0] for label in self.labels["x"]])

    def _inputs_by_name(self, u: np.ndarray) -> dict[str, np.ndarray]:
        """Inputs by name, (intervals, …) each, from the flat columns."""
        found, offset = {}, 0
        for variable in self.system.of_kind("input"):
            flat = u[:, offset : offset + variable.size]
            shape = variable.shape
            found[variable.name] = (
                flat[:, 0]
                if shape == ()
                else flat
                if len(shape) == 1
                else flat.reshape(-1, *shape[::-1]).swapaxes(1, 2)
            )
            offset += variable.size
        return found

    def _given(self, x0: np.ndarray, u: np.ndarray, p: np.ndarray) -> dict[str, Any]:
        """The arguments of a run."""
        begins = self.times[:-1]
        inputs = {name: signal(begins, values) for name, values in self._inputs_by_name(u).items()}
        start = {label: float(v) for label, v in zip(self.labels["x"], x0)}
        parameters = {label: float(v) for label, v in zip(self.labels["p"], p)}
        return {"start": start, "inputs": inputs, "parameters": parameters}

    @cached_property
    def _prepared(self) -> Any:
        """A run whose numbers alone change, for models without inputs whose states are all that is asked for."""
        plain = self._names == self.system.labels["x"] and not self.system.sizes["u"] and not self.system.events
        if not plain or self.times[0] == self.times[-1]:
            return None
        try:
            run = prepare(self.model, (self.times[0], self.times[-1]), save_at=self.times, **self.options)
        except InputError:
            return None
        return run if run.labels["x"] == self.labels["x"] and run.labels["p"] == self.labels["p"] else None

    @cached_property
    def stepped(self) -> SteppedRun | None:
        """The run inside the core, where it consists of explicit steps alone."""
        found = stepped_run(self.system, self.times, self._names, self.defaults, self.options)
        if found is not None:
            found.core.again = self._again
        return found

    def _again(self, x0: np.ndarray, u: np.ndarray, p: np.ndarray, weights: np.ndarray | None = None) -> Any:
        """What the core asks for where it stops: values, or pulled weights."""
        return self.values(x0, u, p) if weights is None else self.pulled(x0, u, p, weights, wanted=GROUPS)

    def values(self, x0: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """y (cases, nt, ny) of x0 (cases, n), u (cases, nt - 1, nu) and p (cases, np), or (1, np) for all."""
        y = None if self.stepped is None else self.stepped.value(x0, u, p)
        if y is not None:
            return y
        return np.stack([self._value(*case) for case in zip(x0, u, _for_each(p, len(x0)))])

    def pulled(
        self, x0: np.ndarray, u: np.ndarray, p: np.ndarray, weights: np.ndarray, *, wanted: Sequence[str]
    ) -> tuple[np.ndarray, ...]:
        """Weights of y (cases, nt, ny) as those of what is wanted, by the transposed derivative.

        Those of parameters that all cases share are summed.
        """
        whole = None if self.stepped is None else self.stepped.pull(x0, u, p, weights)
        if whole is not None:
            return tuple(whole[GROUPS.index(name)] for name in wanted)
        cases = []
        for *case, weight in zip(x0, u, _for_each(p, len(x0)), weights):
            _, slopes = self.slopes(*case, wanted=wanted)
            cases.append([np.tensordot(weight, slopes[name], axes=2) for name in wanted])
        found = [np.stack(parts) for parts in zip(*cases)]
        if len(p) < len(x0) and "parameters" in wanted:
            place = list(wanted).index("parameters")
            found[place] = found[place].sum(axis=0)[None]
        return tuple(found)

    def _value(self, x0: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """y (nt, ny) of one case."""
        x0, u, p = (np.ascontiguousarray(a, dtype=float) for a in (x0, u, p))
        if self._prepared is not None:
            return np.asarray(self._prepared(x0, p=p))
        span = (self.times[0], self.times[-1])
        tr = simulate(self.model, span, save_at=self.times, on_stop="raise", **self._given(x0, u, p), **self.options)
        return self._read(tr)

    def _read(self, rows: Trajectory | Samples) -> np.ndarray:
        columns = []
        for name in self._names:
            values = np.asarray(rows[name])
            # Matrices by columns, as everywhere.
            columns.append(values.reshape(len(values), -1) if values.ndim < 3 else _by_columns(values))
        return np.concatenate(columns, axis=1)

    def slopes(
        self, x0: np.ndarray, u: np.ndarray, p: np.ndarray, *, wanted: Sequence[str]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """y, and its derivatives: start (nt, ny, n), inputs (nt, ny, nt - 1, nu), parameters (nt, ny, np)."""
        x0, u, p = (np.ascontiguousarray(a, dtype=float) for a in (x0, u, p))
        wanted = [group for group in wanted if self.labels[LETTERS[group]]]
        if not wanted:
            return self._value(x0, u, p), {}
        span = (self.times[0], self.times[-1])
        wrt = [*(g for g in wanted if g != "parameters"), *(self._parameter_names() if "parameters" in wanted else ())]
        sens = sensitivities(self.model, span, wrt=wrt, grid=self.times, **self._given(x0, u, p), **self.options)
        rows = sens.at(self.times)
        found: dict[str, np.ndarray] = {}
        for group in wanted:
            found[group] = np.concatenate([self._slope(rows, name, group) for name in self._names], axis=1)
        return self._read(sens.states.at(self.times)), found

    def second(self, x0: np.ndarray, u: np.ndarray, p: np.ndarray, *, wanted: Sequence[str]) -> np.ndarray:
        """All second derivatives (nt, ny, size, size) by what is wanted, flat and one behind the other."""
        x0, u, p = (np.ascontiguousarray(a, dtype=float) for a in (x0, u, p))
        count = sum(self.size(group) for group in wanted)
        if count > MOST_SECOND:
            raise InputError(
                "There are too many second derivatives.",
                f"{count} numbers are differentiated by ({', '.join(wanted)}), at most {MOST_SECOND}",
                because="each pair of them is a direction of the variational equations.",
                remedy="wrt= without weights and inputs; or the first derivative at two places",
            )
        span = (self.times[0], self.times[-1])
        wrt = [*(g for g in wanted if g != "parameters"), *(self._parameter_names() if "parameters" in wanted else ())]
        given = {"grid": self.times, **self._given(x0, u, p), **self.options}
        rows = sensitivities(self.model, span, order=2, wrt=wrt, **given).at(self.times)
        found = np.empty((*self.shape, count, count))
        ends = np.cumsum([0, *(self.size(group) for group in wanted)]).tolist()
        parts = [(group, slice(begin, end)) for group, begin, end in zip(wanted, ends, ends[1:])]
        for (one, own), (other, beside) in product(parts, parts):
            for k, entry in enumerate(self._entries):
                block = np.asarray(rows.d(entry, one, other))
                found[:, k, own, beside] = block.reshape(len(self.times), self.size(one), self.size(other))
        return found

    @property
    def _entries(self) -> list[Any]:
        """The entries of a row of y as expressions of the system."""
        system = self.system
        found: list[Any] = []
        for name in self._names:
            if name in system.output_names:
                found += elements(system.output(name))
            else:
                place = system.place(name)
                found += [system.symbol(letter)[int(k)] for letter, k in zip(place.letters, place.positions)]
        return found

    def size(self, group: str) -> int:
        """How many numbers an argument has."""
        count = len(self.labels[LETTERS[group]])
        return count * (len(self.times) - 1) if group == "inputs" else count

    def _parameter_names(self) -> list[str]:
        return [v.name for v in self.system.of_kind("parameter")]

    def _slope(self, rows: Any, name: str, group: str) -> np.ndarray:
        count = len(self.times)
        if group == "parameters":
            columns = [
                _flattened(np.asarray(rows.d(name, own.name)), count, own.shape)
                for own in self.system.of_kind("parameter")
            ]
            return np.concatenate(columns, axis=2)
        flat = np.asarray(rows.d(name, group))
        last = (len(self.labels["x"]),) if group == "start" else (count - 1, len(self.labels["u"]))
        return _before(flat, count, last)


def _for_each(p: np.ndarray, cases: int) -> np.ndarray:
    return np.broadcast_to(p, (cases, p.shape[1])) if len(p) < cases else p


def _before(values: np.ndarray, count: int, last: tuple[int, ...]) -> np.ndarray:
    """(nt, shape of y …, last …) as (nt, ny, last …), y by columns."""
    middle = values.shape[1 : values.ndim - len(last)]
    size = int(np.prod(middle, dtype=int))
    if len(middle) == 2:
        values = np.swapaxes(values, 1, 2)
    return values.reshape(count, size, *last)


def _flattened(values: np.ndarray, count: int, shape: tuple[int, ...]) -> np.ndarray:
    """(nt, shape of y …, shape of p …) as (nt, ny, size of p), both by columns."""
    if len(shape) == 2:
        values = np.swapaxes(values, -1, -2)
    flat = values.reshape(*values.shape[: values.ndim - len(shape)], -1)
    return _before(flat, count, (flat.shape[-1],))


def _by_columns(values: np.ndarray) -> np.ndarray:
    return values.swapaxes(1, 2).reshape(len(values), -1)


def _checked_times(times: object) -> np.ndarray:
    found = np.array(times, dtype=float).reshape(-1)
    if len(found) < 2 or not np.all(np.isfinite(found)) or not np.all(np.diff(found) > 0):
        raise InputError(
            "times are at least two increasing numbers.",
            f"got {times!r}"[:100],
            because="the run goes from the first to the last, and inputs are held between them.",
            remedy="np.linspace(0, 1, 11)",
        )
    return found


def _checked_options(options: dict[str, Any]) -> dict[str, Any]:
    for name in ("start", "inputs", "parameters", "save_at", "progress", "on_stop", "locate_switches"):
        if name in options:
            raise InputError(
                f"{name}= is not an option here.",
                because="start, inputs and parameters are arguments of the function, and times are its rows."
                if name in GROUPS
                else "the function decides it itself.",
                remedy="f(start, inputs, parameters)" if name in GROUPS else "leave it out",
            )
    return dict(options)


def _checked_groups(wrt: str | Sequence[str]) -> tuple[str, ...]:
    given = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    for name in given:
        if name not in GROUPS:
            raise InputError(
                f"wrt={name!r} is not an argument of the function.",
                f"its arguments are {', '.join(GROUPS)}",
                remedy=did_you_mean(str(name), GROUPS) or 'wrt=("start", "parameters")',
            )
    return given
