"""Sensitivities at a set of times: M, N, O, P, Q as arrays, and the derivative of any name by any other.

M = ∂x/∂x₀, N = ∂x/∂u, O = ∂²x/∂x₀², P = ∂²x/∂x₀∂u, Q = ∂²x/∂u² (S14 of the notes this package began with).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.directions import GROUPS, WORDS
from daedalus.differentiation.variational.augmented import AnyAugmented, augmented_of
from daedalus.differentiation.variational.chain_rule import Followed, FollowedInParts, followed
from daedalus.differentiation.variational.recorded import RunPart
from daedalus.differentiation.variational.residual_variational import ResidualVariational
from daedalus.differentiation.variational.variational import Variational
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.model import as_system
from daedalus.model.names import counted, split_index
from daedalus.model.system.once import once
from daedalus.model.system.system import System


class SensitivitySamples:
    """Sensitivities at one time or several; `sens.at(t)` gives it.

    With one time the arrays have no time axis; with several it comes first. `value` is x, `rate` is x'.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=2.0); k = m.parameter("k", 0.5)
    >>> m.equation(m.der(x), -k * x)
    >>> middle = dd.sensitivities(m, 2.0, rtol=1e-9).at(1.0)
    >>> middle.M.round(6).tolist(), round(float(middle.d("x", "k")), 6), round(float(middle.d("x_dot", "k")), 6)
    ([[0.606531]], -1.213061, -0.606531)
    """

    def __init__(
        self,
        case: Case,
        augmented: AnyAugmented,
        times: np.ndarray,
        y: np.ndarray,
        scalar: bool,
        parts: Sequence[RunPart] = (),
    ) -> None:
        self._case, self._augmented, self._parts = case, augmented, parts
        self._times, self._y, self._scalar = times, y, scalar
        self._directions = augmented.variational.directions

    def __getstate__(self) -> dict[str, Any]:
        kept = ("_case", "_times", "_y", "_scalar", "_directions")
        return {**{name: getattr(self, name) for name in kept}, "_parts": list(self._parts), "order": self.order}

    def __setstate__(self, state: dict[str, Any]) -> None:
        order = state.pop("order")
        vars(self).update(state)
        # Variational equations are made anew from the system.
        self._augmented = augmented_of(self._case.plant, self._directions, order)

    def __repr__(self) -> str:
        times = f"t = {self._times[0]:g}" if self._scalar else f"{len(self._times)} times"
        return f"Sensitivities({self._case.system.name!r} at {times}: {self._size_text}, order {self.order})"

    @property
    def _size_text(self) -> str:
        varied = self._directions.count
        return f"{counted(self._augmented.layout.n, 'state')} by {varied} {'quantity' if varied == 1 else 'quantities'}"

    def _out(self, values: np.ndarray) -> np.ndarray:
        return values[0] if self._scalar else values

    @property
    def time(self) -> np.ndarray:
        """The time, or the times (nt,)."""
        return self._times[0] if self._scalar else self._times

    @property
    def order(self) -> int:
        """1, or 2 with second derivatives."""
        return self._augmented.variational.order

    @property
    def value(self) -> np.ndarray:
        """x, (n,): the differential variables in order of declaration."""
        return self._out(self._augmented.layout.states(self._y)[:, self._own])

    @property
    def M(self) -> np.ndarray:
        """∂x/∂x₀, (n, n): along the consistent start values, M = Dφ P, where the model has constraints."""
        return self._first("x")

    @property
    def N(self) -> np.ndarray:
        """∂x/∂u, (n, nu), for a constant added to u over the span; (n, k, nu) with a grid of k intervals."""
        return self._on_grid(self._first("u"), 1)

    @property
    def by_parameters(self) -> np.ndarray:
        """∂x/∂p, (n, np), including the effect of p on a consistent start."""
        return self._first("p")

    @property
    def O(self) -> np.ndarray:  # noqa: E743 - the letter of the formula
        """∂²x/∂x₀², (n, n, n)."""
        return self._second("x", "x")

    @property
    def P(self) -> np.ndarray:
        """∂²x/∂x₀∂u, (n, n, nu)."""
        return self._on_grid(self._second("x", "u"), 2)

    @property
    def Q(self) -> np.ndarray:
        """∂²x/∂u², (n, nu, nu)."""
        both = self._on_grid(self._second("u", "u"), 1)
        return self._on_grid(both, 3) if self._directions.intervals else both

    @property
    def M_dot(self) -> np.ndarray:
        """M', (n, n); at the start it is f_x P."""
        return self._out(self._rates[:, self._own][:, :, self._own_start])

    @property
    def N_dot(self) -> np.ndarray:
        """N', (n, nu); at the start it is f_u."""
        return self._on_grid(self._out(self._rates[:, self._own][:, :, self._all_columns("u")]), 1)

    # -- by name -----------------------------------------------------------------------------------------------

    def d(self, of: object, *wrt: str) -> np.ndarray:
        """The derivative of a name by another, or the second derivative by two.

        Parameters
        ----------
        of: the name of a state, rate, algebraic variable, multiplier or output, or an expression of symbols of the
            model.
        wrt: one or two names of states (their start values), inputs and parameters; also "start", "inputs",
            "parameters" for all of them.

        The shape is that of `of`, then those of `wrt`; with a grid, inputs have the axis of the intervals before their
        own.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("spring")
        >>> x = m.state("x", start=1.0); v = m.state("v", start=0.0); k = m.parameter("k", 4.0)
        >>> m.equation(m.der(x), v); m.equation(m.der(v), -k * x); m.output("energy", 0.5 * v**2 + 0.5 * k * x**2)
        >>> sens = dd.sensitivities(m, 1.0, order=2, rtol=1e-10)
        >>> round(float(sens.d("energy", "x")), 6), round(float(sens.d("energy", "x", "x")), 6)
        (4.0, 4.0)
        """
        if len(wrt) not in (1, 2):
            raise InputError(
                "sens.d takes one or two names to differentiate by.", f"got {len(wrt)}", remedy='sens.d("x", "L")'
            )
        columns = [self._wanted(name) for name in wrt]
        states = self._states(of) if len(wrt) == 1 else None
        if states is not None:
            positions, shape = states
            flat = self._slopes[:, positions][:, :, columns[0][0]]
            return self._out(_shaped(flat, [shape, columns[0][1]]))
        what = self._followed(of)
        if len(wrt) == 1:
            flat = what.first(self._point, self._seeds)[:, :, columns[0][0]]
        else:
            self._need_second()
            flat = what.second(self._point, self._seeds, self._row_curvatures)
            flat = flat[:, :, columns[0][0][:, None], columns[1][0][None, :]]
        shapes = [what.shape, *(shape for _, shape in columns)]
        return self._out(_shaped(flat, shapes))

    def columns_of(self, names: Sequence[str]) -> list[int]:
        """The columns of what was varied under some names; of all parameters for "parameters", and so on."""
        columns: list[int] = []
        for name in names:
            own = self._directions.columns(GROUPS[name]) if name in GROUPS else None
            columns += self._wanted(name)[0].tolist() if own is None else range(own.start, own.stop)
        return columns

    @property
    def sizes(self) -> np.ndarray:
        """The usual size of every column: nominal values, and of parameters their own where they have one."""
        return self._directions.sizes(self._case.system, self._case.p)

    @property
    def without_value(self) -> np.ndarray:
        """Which columns belong to parameters that are zero."""
        zero = np.zeros(self._directions.count, dtype=bool)
        zero[self._directions.columns("p")] = self._case.p[list(self._directions.p)] == 0
        return zero

    def curves_of(self, name: str) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        """Values of a name (times, elements), their derivatives by every column without rounding, and its shape."""
        what = self._followed(name)
        return what.value(self._point), what.known(self._point, self._seeds), what.shape

    def _states(self, of: object) -> tuple[np.ndarray, tuple[int, ...]] | None:
        """Where the states of a name lie in x, and their shape: their derivatives are there; None for anything else."""
        system = self._case.system
        if not isinstance(of, str) or split_index(of)[0] in system.output_names:
            return None
        if of not in system.places and split_index(of)[0] not in system.places:
            return None
        place = system.place(of)
        return (np.asarray(place.positions, dtype=int), place.shape) if place.letter == "x" else None

    def values_and_slopes(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Values of a name (times, elements), and their derivatives by every column without rounding."""
        states = self._states(name)
        if states is None:
            return self.curves_of(name)[:2]
        return self.value[:, states[0]], self._slopes[:, states[0]]

    @property
    def parts(self) -> Sequence[RunPart]:
        """The smooth parts of the run, one behind the other."""
        return self._parts

    @property
    def varied_values(self) -> np.ndarray:
        """Start values and parameters that are varied; the usual size of one that is zero."""
        d, case = self._directions, self._case
        values = np.concatenate([case.x0[list(d.x)], case.p[list(d.p)]])
        return np.where(values == 0, d.sizes(case.system, case.p), values)

    def state_and_transition(self, part: RunPart | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The state at the first time, or at the end of a part, and its derivative by that at the start.

        Modes of a run, which conditions compare, have none.
        """
        layout = (self._augmented if part is None else part.augmented).layout
        y = self._y if part is None else part.recorded.at(part.recorded.t[-1:])
        directions = list(self._directions.x)
        transition = np.zeros((layout.n, layout.n))
        transition[:, directions] = layout.sensitivities(y)[0, : layout.n, : len(directions)]
        return np.array(layout.states(y)[0]), transition

    def _wanted(self, name: str) -> tuple[np.ndarray, tuple[int, ...]]:
        """The columns of a name and its shape."""
        d, system = self._directions, self._case.system
        if name in GROUPS:
            letter = GROUPS[name]
            if letter == "x":
                return self._own_start, (len(self._own_start),)
            found = self._all_columns(letter)
            members = len(getattr(d, letter))
            shape = (d.intervals, members) if letter == "u" and d.intervals else (members,)
            return _grid_order(np.arange(found.start, found.stop), shape), shape
        follows = InputError(
            f"Nothing can be differentiated by {name}.",
            "it follows from the states, the inputs and the parameters",
            remedy="a state (for its start value), an input or a parameter",
        )
        if name in system.output_names and name not in system.places:
            raise follows
        place = system.place(name)
        letter_of = place.letter
        if letter_of not in WORDS:
            raise follows
        self._columns(letter_of)
        missing = [int(k) for k in place.positions if int(k) not in getattr(d, letter_of)]
        if missing:
            raise self._not_varied(letter_of, name)
        if letter_of == "u" and d.intervals:
            columns = [[d.column_of("u", int(k), i) for k in place.positions] for i in range(d.intervals)]
            return _grid_order(np.ravel(columns), (d.intervals, *place.shape)), (d.intervals, *place.shape)
        return np.array([d.column_of(letter_of, int(k)) for k in place.positions]), place.shape

    # -- what everything is made of ----------------------------------------------------------------------------

    def _columns(self, letter: str) -> slice:
        columns = self._directions.columns(letter)
        if columns.start == columns.stop and self._case.system.sizes[letter]:
            raise self._not_varied(letter, WORDS[letter])
        return columns

    def _not_varied(self, letter: str, name: str) -> InputError:
        return InputError(
            {"start": "The start was", "inputs": "The inputs were", "parameters": "The parameters were"}.get(
                name, f"{name} was"
            )
            + " not varied.",
            f"the columns are {', '.join(self._directions.labels(self._case.system)[:8])}",
            because="wrt= left it out.",
            remedy=f'wrt=(..., "{WORDS[letter]}")',
        )

    def _all_columns(self, letter: str) -> slice:
        """The columns of all inputs, of the whole start or of all parameters; refused where inputs are not there."""
        gone = [v.name for v in as_system(self._case.model).of_kind("input") if v.name not in self._case.system.places]
        if letter == "u" and gone:
            raise InputError(
                f"There is no derivative by the input {', '.join(gone[:6])}.",
                because="the constraints differentiate it, so that what is added to it moves the start as well.",
                remedy="a parameter in its expression: wrt=(..., name) and sens.d(of, name)",
            )
        return self._columns(letter)

    @cached_property
    def _own(self) -> np.ndarray:
        """The states that are differential variables; discrete variables stand among them."""
        return np.setdiff1d(np.arange(self._augmented.layout.n), self._case.rests)

    @property
    def _own_start(self) -> np.ndarray:
        """The columns of their start values."""
        columns = self._all_columns("x")
        rests = np.isin(np.array(self._directions.x, dtype=int), self._case.rests)
        return np.arange(columns.start, columns.stop)[~rests]

    def _first(self, letter: str) -> np.ndarray:
        columns = self._own_start if letter == "x" else self._all_columns(letter)
        return self._out(self._slopes[:, self._own][:, :, columns])

    def _second(self, one: str, other: str) -> np.ndarray:
        self._need_second()
        return self._out(self._curvatures[:, :, self._all_columns(one), self._all_columns(other)])

    def _need_second(self) -> None:
        if self.order != 2:
            raise InputError(
                "There are no second derivatives.",
                "the run was made with order=1",
                remedy="dd.sensitivities(..., order=2)",
            )

    def _on_grid(self, values: np.ndarray, axis: int) -> np.ndarray:
        """The axis of the inputs split into intervals and inputs."""
        k = self._directions.intervals
        if not k:
            return values
        axis += 0 if self._scalar else 1
        return values.reshape(*values.shape[:axis], k, values.shape[axis] // k, *values.shape[axis + 1 :])

    @cached_property
    def _row_slopes(self) -> np.ndarray:
        return self._augmented.layout.sensitivities(self._y)

    @cached_property
    def _row_curvatures(self) -> np.ndarray:
        return self._augmented.layout.curvatures(self._y)

    @cached_property
    def _slopes(self) -> np.ndarray:
        return self._row_slopes[:, : self._augmented.layout.n]

    @cached_property
    def _curvatures(self) -> np.ndarray:
        return self._row_curvatures[:, : self._augmented.layout.n]

    @cached_property
    def _rates(self) -> np.ndarray:
        return self._followed_in_parts(lambda v: followed(v, v.system.symbol("xdot"))).first(self._point, self._seeds)

    @cached_property
    def _point(self) -> tuple[np.ndarray, ...]:
        """t, rows, u and p for the chain rule."""
        case = self._case
        return self._times, self._augmented.layout.rows(self._y), case.drive.at(self._times), case.p

    @cached_property
    def _seeds(self) -> np.ndarray:
        """V = ∂(row, u, p)/∂θ, (times, size of v, m)."""
        if not self._directions.intervals:
            one = self._case.given_slopes(self._directions, float(self._times[0]))
            given = np.broadcast_to(one, (len(self._times), *one.shape))
        else:
            given = np.stack([self._case.given_slopes(self._directions, float(t)) for t in self._times])
        return np.concatenate([self._row_slopes, given], axis=1)

    @property
    def _all_augmented(self) -> list[AnyAugmented]:
        return [part.augmented for part in self._parts] or [self._augmented]

    def _in_parts(self, each: list[Followed]) -> Followed:
        """An expression that follows from the equations of the part that a time lies in."""
        if len(each) == 1:
            return each[0]
        begins = np.array([part.recorded.t[0] for part in self._parts])
        direction = 1.0 if self._parts[-1].recorded.t[-1] >= begins[0] else -1.0
        owners = np.searchsorted(direction * begins, direction * self._times, side="right") - 1
        return FollowedInParts(each[0].function, each[0].shape, tuple(each), np.clip(owners, 0, len(each) - 1))

    def _followed(self, of: object) -> Followed:
        if not isinstance(of, str):
            return self._followed_in_parts(lambda v: followed(v, of))
        return self._followed_in_parts(lambda v: once(v.system, _followed, v, of))

    def _followed_in_parts(self, make: Callable[[Variational | ResidualVariational], Followed]) -> Followed:
        """An expression in every part, made once for those with the same equations."""
        own = [a.variational for a in self._all_augmented]
        made = {id(variational): make(variational) for variational in {id(v): v for v in own}.values()}
        return self._in_parts([made[id(variational)] for variational in own])


def _followed(system: System, variational: Variational | ResidualVariational, name: str) -> Followed:
    return followed(variational, name)


def _grid_order(columns: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Columns that run with the last axis fastest, reordered so that the first runs fastest."""
    if len(shape) < 2:
        return columns
    inner = columns.reshape(shape[0], -1)
    return inner.T.ravel()


def _shaped(flat: np.ndarray, shapes: list[tuple[int, ...]]) -> np.ndarray:
    """(times, size, size, ...) to (times, *shape, *shape, ...); every size is flat column by column."""
    return flat.reshape(len(flat), *(size for shape in shapes for size in shape), order="F")
