"""The response of a linear system: states, inputs and outputs over time, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.analysis.linear.axis_names import Names, Selection, matches, positions
from daedalus.errors import InputError
from daedalus.model.names import did_you_mean
from daedalus.model.system.system import System
from daedalus.model.values import unit_of

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Impulse:
    """A Dirac impulse in a response: size · δ⁽ᵒʳᵈᵉʳ⁾(t - time), which samples cannot show.

    >>> str(Impulse(0.5, "current", 0, 2.0)), str(Impulse(0.5, "torque", 1, -1.0))
    ('current has an impulse of area 2 at t = 0.5', 'torque has the derivative of an impulse, size -1, at t = 0.5')
    """

    time: float
    state: str
    order: int
    size: float

    def __str__(self) -> str:
        at = f"at t = {self.time:.6g}"
        if self.order == 0:
            return f"{self.state} has an impulse of area {self.size:.6g} {at}"
        which = "the derivative" if self.order == 1 else f"derivative {self.order}"
        return f"{self.state} has {which} of an impulse, size {self.size:.6g}, {at}"


@dataclass(frozen=True, eq=False, repr=False)
class Response:
    """The result of `lti.respond(...)`: `r["x"]` by name, `r.outputs` as an array, and `r.plot()`.

    Attributes
    ----------
    time: (nt,).
    states, inputs, outputs: (nt, n), (nt, nu), (nt, ny).
    state_names, input_names, output_names: the names of the columns.
    notes: what the numbers do not show, in words.
    impulses: what a descriptor system of index 2 or more answers to jumps with; `notes` names them too.
    units, title: the unit of each name that has one and the model's name, where the system is a linearised model.

    Example
    -------
    >>> import daedalus as dd
    >>> r = dd.LTI([[-1.0]], [[1.0]], states=["level"], inputs=["pump"]).step_response([0.0, 1.0, 50.0])
    >>> r["level"].round(4).tolist(), r.states.shape
    ([0.0, 0.6321, 1.0], (3, 1))
    """

    time: np.ndarray
    states: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray
    state_names: Names
    input_names: Names
    output_names: Names
    notes: tuple[str, ...] = ()
    impulses: tuple[Impulse, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    title: str = ""

    def __post_init__(self) -> None:
        for array in (self.time, self.states, self.inputs, self.outputs):
            array.setflags(write=False)

    def keys(self) -> list[str]:
        """All names: states, inputs, outputs."""
        return list(dict.fromkeys((*self.state_names, *self.input_names, *self.output_names)))

    def __getitem__(self, name: str | Sequence[str]) -> np.ndarray:
        """The values of a name, (nt,); of all elements `q[0]`, `q[1]`, ... of `"q"` or of a list of names, (nt, k)."""
        if not isinstance(name, str):
            return np.column_stack([self[one] for one in name])
        if name in ("t", "time"):
            return self.time
        for names, values in self._columns():
            found = matches(names, name)
            if found:
                return values[:, found[0]] if name in names else values[:, found]
        raise InputError(
            f"The response has no {name!r}.",
            f"it has {', '.join(self.keys()[:12])}{', …' if len(self.keys()) > 12 else ''}",
            remedy=did_you_mean(name, self.keys()),
        )

    def __contains__(self, name: object) -> bool:
        return name in ("t", "time") or any(matches(names, str(name)) for names, _ in self._columns())

    def _columns(self) -> list[tuple[Names, np.ndarray]]:
        return [
            (self.state_names, self.states),
            (self.output_names, self.outputs),
            (self.input_names, self.inputs),
        ]

    def select(self, states: Selection = None, inputs: Selection = None, outputs: Selection = None) -> Response:
        """The same response with the chosen states, inputs and outputs only; None keeps all, [] none.

        Example
        -------
        >>> import daedalus as dd
        >>> r = dd.LTI([[0, 1], [0, 0]], [0, 1], states=["x", "v"]).step_response([0.0, 1.0])
        >>> r.select(states="v").states.tolist()
        [[0.0], [1.0]]
        """
        kept_states = positions(self.state_names, states, "state")
        kept_inputs = positions(self.input_names, inputs, "input")
        kept_outputs = positions(self.output_names, outputs, "output")
        return replace(
            self,
            states=self.states[:, kept_states],
            inputs=self.inputs[:, kept_inputs],
            outputs=self.outputs[:, kept_outputs],
            state_names=tuple(self.state_names[k] for k in kept_states),
            input_names=tuple(self.input_names[k] for k in kept_inputs),
            output_names=tuple(self.output_names[k] for k in kept_outputs),
        )

    def to_xarray(self) -> xarray.Dataset:
        """The response as an xarray Dataset: states, inputs and outputs over `time`, with names as coordinates.

        Example
        -------
        >>> import daedalus as dd
        >>> r = dd.LTI([[-1.0]], [[1.0]], states=["level"]).step_response([0.0, 1.0])
        >>> round(float(r.to_xarray()["states"].sel(time=1.0, state="level")), 4)
        0.6321
        """
        import xarray

        return xarray.Dataset(
            {
                "states": (("time", "state"), self.states),
                "inputs": (("time", "input"), self.inputs),
                "outputs": (("time", "output"), self.outputs),
            },
            coords={
                "time": self.time,
                "state": list(self.state_names),
                "input": list(self.input_names),
                "output": list(self.output_names),
            },
            attrs={"notes": "; ".join(self.notes)} if self.notes else {},
        )

    def to_dataframe(self) -> pandas.DataFrame:
        """The response as a pandas DataFrame: a column for each name, a row for each time.

        Example
        -------
        >>> import daedalus as dd
        >>> list(dd.LTI([[-1.0]], [[1.0]], [[2.0]]).step_response([0.0, 1.0]).to_dataframe().columns)
        ['x', 'u', 'y']
        """
        import pandas

        return pandas.DataFrame({name: self[name] for name in self.keys()}, index=pandas.Index(self.time, name="time"))

    def plot(self, names: str | Sequence[str] | None = None, ax: Axes | None = None) -> Any:
        """Draw columns over time; without names all outputs.

        Example
        -------
        >>> import daedalus as dd
        >>> figure = dd.LTI([[-1.0]], [[1.0]]).step_response().plot()
        """
        from daedalus.display.response_plot import plot_response

        return plot_response(self, names, ax)

    def __repr__(self) -> str:
        span = f"t = {self.time[0]:g} to {self.time[-1]:g}, " if len(self.time) else ""
        return f"Response({span}{len(self.time)} times: {', '.join(self.keys()[:8])})"


def with_units(response: Response, system: System) -> Response:
    """The response of a linearised model with the model's units and name."""
    names = response.keys()
    units = {name: unit for name in names if (unit := unit_of(system, name))}
    return replace(response, units=units, title=system.name)
