"""Linear time-invariant systems: x' = A x + B u, y = C x + D u with names, and their exact response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.algebra.rank_decision import ROUNDING, is_singular, rank_of
from daedalus.analysis.linear.axis_names import Names, Selection, check_names, positions, read_out
from daedalus.analysis.linear.continuous_system import ContinuousSystem
from daedalus.analysis.linear.other_libraries import (
    control_space,
    is_foreign_system,
    matrices_of,
    read_foreign,
    scipy_space,
)
from daedalus.analysis.linear.pencils.reachability import Reachability, reach
from daedalus.analysis.linear.pole_stability import Stability, judge
from daedalus.analysis.linear.real_matrix import matrix
from daedalus.analysis.linear.responses.discrete_lti import DiscreteLTI, discretise
from daedalus.analysis.linear.responses.linear_response import check_times, march, settling_times, start_numbers
from daedalus.analysis.linear.responses.piecewise_inputs import read_inputs
from daedalus.analysis.linear.responses.response import Response
from daedalus.analysis.linear.system_matrices import GivenNames, complete
from daedalus.analysis.linear.system_text import by_real_part, describe, labelled
from daedalus.analysis.linear.transfer import transfer_values
from daedalus.analysis.linear.transfer_forms import companion, divided, from_differential_equation, from_roots
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import split_index

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False, init=False, repr=False)
class LTI(ContinuousSystem):
    """x' = A x + B u, y = C x + D u, with names for states, inputs and outputs.

    The solution is known in closed form,

        y(t) = C exp(A t) x(0) + ∫₀ᵗ C exp(A (t - τ)) B u(τ) dτ + D u(t),

    and `respond` computes it without a time step. It is exact up to rounding for inputs that are constant or linear
    between samples.

    Parameters
    ----------
    A: (n, n); or a whole system of python-control or scipy.signal (state space, transfer function, zeros and poles),
        which keeps its names unless others are given here.
    B: (n, nu), or (n,) for one input; no inputs when left out.
    C: (ny, n), or (n,) for one output; all states, under their own names, when left out.
    D: (ny, nu); zero when left out.
    states, inputs, outputs: names, or one word for names `word[0]`, `word[1]`, ...; by default x, u, y.

    Example
    -------
    >>> import daedalus as dd
    >>> cart = dd.LTI([[0, 1], [0, 0]], [0, 1], states=["position", "speed"], inputs=["force"])
    >>> r = cart.respond([0.0, 1.0, 2.0], inputs=3.0, start={"speed": 1.0})
    >>> r["position"].tolist()
    [0.0, 2.5, 8.0]
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: Names
    inputs: Names
    outputs: Names

    def __init__(
        self,
        A: object,
        B: object = None,
        C: object = None,
        D: object = None,
        *,
        states: GivenNames = None,
        inputs: GivenNames = None,
        outputs: GivenNames = None,
    ) -> None:
        if is_foreign_system(A):
            whole = read_foreign(A, (B, C, D), {"states": states, "inputs": inputs, "outputs": outputs})
            A, B, C, D = (whole[name] for name in "ABCD")
            states, inputs, outputs = (whole.get(axis) for axis in ("states", "inputs", "outputs"))
        A = matrix(A, "A")
        A = matrix(A, "A", len(A), len(A))
        for name, value in complete(A, B, C, D, states, inputs, outputs).items():
            object.__setattr__(self, name, value)

    # -- other forms -------------------------------------------------------------------------------------------

    @classmethod
    def from_second_order(
        cls, M: object, D: object, K: object, F: object = None, coordinates: str | Sequence[str] = "q", **names: Any
    ) -> LTI:
        """The mechanical system M q'' + D q' + K q = F u as a state space with the states q and q_dot.

        Example
        -------
        >>> import daedalus as dd
        >>> spring = dd.LTI.from_second_order([[2.0]], [[0.0]], [[8.0]], [[1.0]])
        >>> spring.states, spring.poles().imag.round(12).tolist()
        (('q', 'q_dot'), [-2.0, 2.0])
        """
        A, B, states = first_order(M, D, K, F, coordinates)
        return cls(A, B, states=states, **names)

    @classmethod
    def from_coefficients(cls, coefficients: Sequence[float], **names: Any) -> LTI:
        """The linear equation a_n x⁽ⁿ⁾ + ... + a_1 x' + a_0 x = f from a_n, ..., a_0.

        The states are x, x_dot, ..., the input is f, the output x.

        Example
        -------
        >>> import daedalus as dd
        >>> spring = dd.LTI.from_coefficients([2.0, 0.0, 8.0])          # 2 x'' + 8 x = f
        >>> spring.states, spring.inputs, spring.poles().imag.round(12).tolist()
        (('x', 'x_dot'), ('f',), [-2.0, 2.0])
        """
        A, B, states = from_differential_equation(coefficients)
        whole: dict[str, Any] = {"states": states, "inputs": ["f"], "outputs": ["x"], **names}
        return cls(A, B, np.eye(1, len(A)), None, **whole)

    @classmethod
    def from_transfer_function(cls, numerator: object, denominator: object, **names: Any) -> LTI:
        """The state space of a proper transfer function, coefficients highest power first.

        `dd.DescriptorSystem.from_transfer_function` also accepts improper ones.

        Example
        -------
        >>> import daedalus as dd
        >>> lag = dd.LTI.from_transfer_function([3.0], [2.0, 1.0])       # 3 / (2 s + 1)
        >>> lag.transfer(0.0).real.item(), lag.poles().real.item()
        (3.0, -0.5)
        """
        quotient, rest, bottom = divided(numerator, denominator)
        if len(quotient) > 1:
            raise InputError(
                "The transfer function is improper.",
                f"the numerator is of degree {len(quotient) + len(bottom) - 2}, the denominator of {len(bottom) - 1}",
                because="its output contains derivatives of the input, which no state space has.",
                remedy="dd.DescriptorSystem.from_transfer_function(numerator, denominator)",
            )
        A, B, C = companion(rest, bottom)
        return cls(A, B, C, [[quotient[0]]], **names)

    @classmethod
    def from_zeros_poles(cls, zeros: object, poles: object, gain: float = 1.0, **names: Any) -> LTI:
        """The state space of gain Π(s - zₖ) / Π(s - pₖ); complex zeros and poles come in pairs.

        Example
        -------
        >>> import daedalus as dd
        >>> system = dd.LTI.from_zeros_poles([-3.0], [-1 + 2j, -1 - 2j], gain=5.0)
        >>> system.zeros().real.round(12).tolist(), system.transfer(0.0).real.item()
        ([-3.0], 3.0)
        """
        return cls.from_transfer_function(*from_roots(zeros, poles, gain), **names)

    @classmethod
    def from_control(cls, system: Any) -> LTI:
        """A `control.StateSpace` (or transfer function) of python-control as an LTI with the same names.

        Example
        -------
        >>> import daedalus as dd
        >>> from importlib.util import find_spec
        >>> system = dd.LTI([[-1.0]], [[1.0]], states=["level"])
        >>> back = dd.LTI.from_control(system.to_control()) if find_spec("control") else system
        >>> back.states
        ('level',)
        """
        return cls(**matrices_of(system))

    def to_control(self) -> Any:
        """The system as a `control.StateSpace` of python-control, with the names.

        Example
        -------
        >>> import daedalus as dd
        >>> from importlib.util import find_spec
        >>> space = dd.LTI([[-1.0]], [[1.0]]).to_control() if find_spec("control") else None
        """
        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        return control_space((self.A, self.B, self.C, self.D), names)

    def to_scipy_signal(self) -> Any:
        """The system as a `scipy.signal.StateSpace`, which has no names; `dd.LTI(space, states=...)` converts back.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.LTI([[-2.0]], [[1.0]]).to_scipy_signal().A.tolist()
        [[-2.0]]
        """
        return scipy_space((self.A, self.B, self.C, self.D))

    def select(self, states: Selection = None, inputs: Selection = None, outputs: Selection = None) -> LTI:
        """The system with the chosen inputs and outputs, and with all states but the chosen ones held at zero.

        Parameters
        ----------
        states: the states to keep; the rows and columns of the others are dropped, as in the short-period approximation
            of an aeroplane. None keeps all.
        inputs: None keeps all; those left out are zero.
        outputs: names of outputs or of states; None keeps all.

        Example
        -------
        >>> import daedalus as dd
        >>> cart = dd.LTI([[0, 1], [0, -3]], [0, 1], states=["position", "speed"])
        >>> cart.select(outputs="position").C.tolist(), cart.select(states="speed", outputs="speed").A.tolist()
        ([[1.0, 0.0]], [[-3.0]])
        """
        kept = positions(self.states, states, "state")
        driven = positions(self.inputs, inputs, "input")
        C, D, names = read_out(self.states, self.outputs, self.C, self.D, outputs)
        return LTI(
            self.A[np.ix_(kept, kept)],
            self.B[np.ix_(kept, driven)],
            C[:, kept],
            D[:, driven],
            states=[self.states[k] for k in kept],
            inputs=[self.inputs[k] for k in driven],
            outputs=names,
        )

    def to_xarray(self) -> xarray.Dataset:
        """The matrices as an xarray Dataset with names along their axes, for selecting blocks.

        Example
        -------
        >>> import daedalus as dd
        >>> cart = dd.LTI([[0, 1], [0, -3]], [0, 1], states=["position", "speed"])
        >>> float(cart.to_xarray()["A"].sel(derivative="speed", state="speed"))
        -3.0
        """
        matrices = {name: getattr(self, name) for name in "ABCD"}
        return labelled(matrices, ("derivative", self.states), self.states, self.inputs, self.outputs)

    # -- what it is --------------------------------------------------------------------------------------------

    def poles(self) -> np.ndarray:
        """The eigenvalues of A, by real part, (n,) complex.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.LTI([[0, 1], [-2, -3]]).poles().real.tolist()
        [-2.0, -1.0]
        """
        return np.array(self._poles)

    @cached_property
    def _poles(self) -> np.ndarray:
        from scipy.linalg import eigvals

        return by_real_part(eigvals(self.A)) if len(self.A) else np.zeros(0, dtype=complex)

    def zeros(self) -> np.ndarray:
        """The invariant zeros, complex: the s at which [A - s I, B; C, D] loses rank.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.LTI([[0, 1], [-2, -3]], [0, 1], [3, 1]).zeros().real.round(12).tolist()
        [-3.0]
        """
        from daedalus.analysis.linear.pencils.pencil import pencil

        E = np.zeros((len(self.A) + len(self.C), len(self.A) + self.B.shape[1]))
        E[: len(self.A), : len(self.A)] = np.eye(len(self.A))
        return pencil(E, np.block([[self.A, self.B], [self.C, self.D]])).finite

    def stability(self) -> Stability:
        """Whether all poles are left of the imaginary axis, with the margin and its uncertainty.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.LTI([[-3, 1], [0, -2]]).stability().margin
        2.0
        """
        return judge(self.A)

    @property
    def is_stable(self) -> bool:
        """Whether every free response decays: all poles are left of the imaginary axis by more than rounding errors."""
        return self.stability().stable

    def controllability(self, tolerance: float | None = None) -> Reachability:
        """Whether the inputs can reach all states, with the rank, the gap and the unreachable modes.

        Parameters
        ----------
        tolerance: singular values below tolerance times the size of the matrix count as zero; by default 64 ε n.

        Example
        -------
        >>> import daedalus as dd
        >>> bool(dd.LTI([[0, 1], [0, 0]], [0, 1]).controllability())
        True
        """
        return reach(self.A, self.B, self.states, tolerance, "controllability")

    def observability(self, tolerance: float | None = None) -> Reachability:
        """Whether the outputs determine all states, with the rank, the gap and the unobservable modes.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.LTI([[0, 1], [0, 0]], [0, 1], [0, 1], states=["x", "v"]).observability().modes[0].states
        ('x',)
        """
        return reach(self.A.T, self.C.T, self.states, tolerance, "observability")

    def transfer(self, s: object) -> np.ndarray:
        """C (s I - A)⁻¹ B + D, (..., ny, nu) complex for s of any shape.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.LTI([[-2.0]], [[1.0]]).transfer(0.0)[0, 0].real.item()
        0.5
        """
        return transfer_values(None, self.A, self.B, self.C, self.D, s)

    # -- what it does ------------------------------------------------------------------------------------------

    def respond(self, times: object, inputs: object = None, start: object = None, sampled: str = "linear") -> Response:
        """The exact response at the given times.

        Parameters
        ----------
        times: (nt,) increasing; the start values hold at the first one.
        inputs: a number, a vector (nu,), samples at `times` (nt, nu) or (nt,) for one input, `dd.signal`, a function of
            time, or a dict of these by name. Inputs without a value are zero. The times of a signal need not be among
            `times`. A function is approximated by polynomials to 1e-11 of its largest value; pass one that jumps as a
            signal.
        start: (n,) or a dict by name; zero where not given.
        sampled: how samples are interpolated: "linear", or "hold" until the next time.

        Example
        -------
        >>> import daedalus as dd
        >>> rc = dd.LTI([[-1.0]], [[1.0]], states=["voltage"], inputs=["source"])
        >>> pulse = dd.signal([0.0, 0.5], [1.0, 0.0])
        >>> rc.respond([0.0, 0.5, 1.0], {"source": pulse})["voltage"].round(4).tolist()
        [0.0, 0.3935, 0.2387]
        """
        grid = check_times(times)
        u = read_inputs(inputs, grid, self.inputs, sampled)
        x = march(self.A, self.B, u, self._start(start))
        y = x @ self.C.T + u.values @ self.D.T
        return Response(grid, x, u.values, y, self.states, self.inputs, self.outputs, u.notes)

    def step_response(self, times: object = None, source: str | None = None) -> Response:
        """The response from rest to one input that is 1 from the first time on.

        Parameters
        ----------
        times: (nt,); by default from 0 until the slowest pole has settled.
        source: the name of the input; needed when there are several.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.LTI([[-1.0]], [[1.0]]).step_response([0.0, 1.0])["x"].round(4).tolist()
        [0.0, 0.6321]
        """
        name = self.inputs[self._source(source, "step")]
        return self.respond(settling_times(self._poles) if times is None else times, {name: 1.0})

    def impulse_response(self, times: object = None, source: str | None = None) -> Response:
        """The response from rest to a unit impulse of one input at the first time: x = exp(A t) b.

        If D is not zero, the output contains the impulse itself, which samples cannot show; `notes` says so.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.LTI([[-1.0]], [[1.0]]).impulse_response([0.0, 1.0])["x"].round(4).tolist()
        [1.0, 0.3679]
        """
        k = self._source(source, "impulse")
        free = self.respond(settling_times(self._poles) if times is None else times, None, self.B[:, k])
        passed = [name for name, direct in zip(self.outputs, self.D[:, k]) if direct]
        note = (
            f"the impulse of {self.inputs[k]} itself appears in {', '.join(passed)} at the first time and is not drawn"
        )
        return replace(free, notes=(note,)) if passed else free

    def discretise(self, h: float, hold: str = "zero") -> DiscreteLTI:
        """The exact sampled system for inputs held ("zero") or linear ("linear") over steps of length h.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.LTI([[-1.0]], [[1.0]]).discretise(0.1).A.round(6).tolist()
        [[0.904837]]
        """
        return discretise(self.A, self.B, self.C, self.D, h, hold, (self.states, self.inputs, self.outputs))

    def _start(self, start: object) -> np.ndarray:
        x = np.zeros(len(self.A))
        if start is None:
            return x
        given = start.items() if isinstance(start, Mapping) else [(None, start)]
        for name, value in given:
            places = positions(self.states, name, "state")
            x[places] = start_numbers(value, len(places), name or "the states")
        return x

    def _source(self, source: str | None, what: str) -> int:
        if source is not None:
            return positions(self.inputs, [source], "input")[0]
        if len(self.inputs) != 1:
            raise InputError(
                f"Which input makes the {what}?",
                f"the inputs are {', '.join(self.inputs)}" if self.inputs else "the system has no inputs",
                remedy=f"{what}_response(source={self.inputs[0]!r})"
                if self.inputs
                else "dd.LTI(A, B, ...) with a matrix B",
            )
        return 0

    def to_latex(self) -> str:
        """The equations in LaTeX, with the names and the numbers of all matrices."""
        from daedalus.display.formulas.object_latex import linear_system_latex

        return linear_system_latex(self, descriptor=False)

    def __str__(self) -> str:
        return describe("x' = A x + B u, y = C x + D u", self.states, self.inputs, self.outputs, self._poles)


# -- M q'' + D q' + K q = F u as a state space ------------------------------------------------------------------


def first_order(
    M: object, D: object, K: object, F: object, coordinates: str | Sequence[str]
) -> tuple[np.ndarray, np.ndarray, Names]:
    """A and B of the states (q, q'), and their names: `q[0]`, ..., then `q_dot[0]`, ...

    Example
    -------
    >>> A, B, states = first_order([[2.0]], [[1.0]], [[8.0]], [[1.0]], ["angle"])
    >>> A.tolist(), B.tolist(), states
    ([[0.0, 1.0], [-4.0, -0.5]], [[0.0], [0.5]], ('angle', 'angle_dot'))
    """
    mass = matrix(M, "M")
    n = len(mass)
    mass, damping, stiffness = matrix(mass, "M", n, n), matrix(D, "D", n, n), matrix(K, "K", n, n)
    forces = matrix(np.zeros((n, 0)) if F is None else F, "F", n)
    if is_singular(mass, ROUNDING):
        raise InputError(
            "The mass matrix is singular.",
            f"rank {rank_of(mass, 'M', ROUNDING).rank} of {n}",
            because="q'' cannot be solved for.",
            remedy="a descriptor system, or dd.linearise of a model with constraints",
        )
    solved = np.linalg.solve(mass, np.hstack([-stiffness, -damping, forces]))
    A = np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), solved[:, : 2 * n]])
    B = np.vstack([np.zeros_like(forces), solved[:, 2 * n :]])
    names = check_names(coordinates, n, "state")
    return A, B, (*names, *(_rate(name) for name in names))


def _rate(name: str) -> str:
    stem, index = split_index(name)
    return f"{stem}_dot" if index is None else f"{stem}_dot[{','.join(map(str, index))}]"
