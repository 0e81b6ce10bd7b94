"""A linear system between samples: what a computer with a hold element sees, x₊ = A x + B u, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.analysis.linear.axis_names import Names
from daedalus.analysis.linear.other_libraries import control_space, scipy_space
from daedalus.analysis.linear.responses.matrix_exponential import exact_step
from daedalus.analysis.linear.responses.response import Response
from daedalus.analysis.linear.riccati import OptimalGains
from daedalus.errors import InputError
from daedalus.model.names import counted
from daedalus.model.plain_numbers import plain_number


@dataclass(frozen=True, eq=False, repr=False)
class DiscreteLTI(OptimalGains):
    """x[k+1] = A x[k] + B u[k], y[k] = C x[k] + D u[k], with step h; `dd.LTI(...).discretise(h)` makes it.

    With inputs linear between samples the state kept here is x - shift u, which makes the next one depend on u[k] only;
    `respond` gives the states x of the continuous system.

    Example
    -------
    >>> import daedalus as dd
    >>> d = dd.LTI([[0, 1], [0, 0]], [0, 1]).discretise(0.1)
    >>> d.A.tolist(), d.B.round(6).tolist()
    ([[1.0, 0.1], [0.0, 1.0]], [[0.005], [0.1]])
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    step: float
    hold: str
    shift: np.ndarray
    states: Names
    inputs: Names
    outputs: Names

    def __post_init__(self) -> None:
        for matrix in (self.A, self.B, self.C, self.D, self.shift):
            matrix.setflags(write=False)

    def respond(self, inputs: object, start: object = None) -> Response:
        """The response at 0, h, 2h, ... to samples of the inputs.

        Parameters
        ----------
        inputs: (nt, nu), or (nt,) for one input.
        start: (n,) the continuous states x at the first sample; zero by default.

        Example
        -------
        >>> import daedalus as dd
        >>> d = dd.LTI([[0.0]], [[1.0]]).discretise(0.5, hold="linear")
        >>> d.respond([0.0, 1.0, 1.0])["x"].tolist()
        [0.0, 0.25, 0.75]
        """
        u = np.array(inputs, dtype=float)
        u = u[:, None] if u.ndim == 1 else u
        if u.ndim != 2 or u.shape[1] != self.B.shape[1] or len(u) == 0 or not np.all(np.isfinite(u)):
            raise InputError(
                "The samples of the inputs are not usable.",
                f"shape {np.asarray(inputs).shape} for {self.B.shape[1]} inputs",
                remedy=f"finite numbers of shape (nt, {self.B.shape[1]})",
            )
        first = np.zeros(len(self.A)) if start is None else np.array(start, dtype=float).reshape(-1)
        if first.shape != (len(self.A),):
            raise InputError("The start has the wrong size.", f"{first.size} numbers for {len(self.A)} states")
        kept = np.empty((len(u), len(self.A)))
        kept[0] = first - self.shift @ u[0]
        for k in range(len(u) - 1):
            kept[k + 1] = self.A @ kept[k] + self.B @ u[k]
        return Response(
            time=self.step * np.arange(len(u)),
            states=kept + u @ self.shift.T,
            inputs=u,
            outputs=kept @ self.C.T + u @ self.D.T,
            state_names=self.states,
            input_names=self.inputs,
            output_names=self.outputs,
        )

    def _for_gains(self, names: Names) -> tuple[Any, np.ndarray, np.ndarray, float]:
        if self.hold != "zero":
            raise InputError(
                "Gains of a sampled system need held inputs.",
                f"its inputs are {self.hold} between samples",
                because="its state contains the present input then.",
                remedy='discretise(h, hold="zero")',
            )
        return super()._for_gains(names)

    def to_c(self, folder: str | Path, name: str = "controller") -> Any:
        """Write the system as self-contained C99 with a Makefile and a test to 1e-12; for controllers and filters.

        `NAME_begin(x, u, memory)` begins, and `NAME_sample(u, memory, y)` is a sample. Returns what `dd.exchange.c`
        returns.

        Example
        -------
        >>> import daedalus as dd, tempfile
        >>> integral = dd.LTI([[0.0]], [[1.0]], [[2.0]], [[5.0]], inputs=["error"], outputs=["force"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     integral.discretise(0.01).to_c(folder, "pi").functions
        ('pi_begin', 'pi_sample')
        """
        from daedalus.exchange.c_code.export_linear import export_sampled

        return export_sampled(self, folder, name)

    def to_control(self) -> Any:
        """The system as a `control.StateSpace` of python-control with its step, and with the names.

        Example
        -------
        >>> import daedalus as dd
        >>> from importlib.util import find_spec
        >>> space = dd.LTI([[-1.0]], [[1.0]]).discretise(0.1).to_control() if find_spec("control") else None
        """
        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        return control_space((self.A, self.B, self.C, self.D), names, self.step)

    def to_scipy_signal(self) -> Any:
        """The system as a `scipy.signal.StateSpace` with its step, without the names.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.LTI([[0.0]], [[1.0]]).discretise(0.5).to_scipy_signal().dt
        0.5
        """
        return scipy_space((self.A, self.B, self.C, self.D), self.step)

    def __repr__(self) -> str:
        return f"DiscreteLTI({counted(len(self.states), 'state')}, step {self.step:g}, {self.hold} hold)"


def discretise(
    A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray, h: float, hold: str, names: tuple[Names, Names, Names]
) -> DiscreteLTI:
    """The exact sampled system for inputs held ("zero") or joined by lines ("linear") between samples."""
    step = plain_number(h, "The step between samples", "s")
    if not (np.isfinite(step) and step > 0):
        raise InputError("The step between samples is a positive number.", f"got {h!r}"[:80], remedy="discretise(0.01)")
    if hold not in ("zero", "linear"):
        raise InputError(f"{hold!r} is not a kind of hold.", remedy='hold="zero" or hold="linear"')
    transition, forced = exact_step(A, B, step, 0 if hold == "zero" else 1)
    if hold == "zero":
        shift, drive = np.zeros_like(B), forced[0]
    else:
        # x₊ = Φ x + (Γ₀ - Γ₁) u[k] + Γ₁ u[k+1]; the state x - Γ₁ u takes the last term away.
        shift = forced[1]
        drive = forced[0] - shift + transition @ shift
    return DiscreteLTI(transition, drive, C.copy(), D + C @ shift, step, hold, shift, *names)
