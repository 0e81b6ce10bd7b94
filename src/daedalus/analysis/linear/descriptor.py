"""A linear system in descriptor form, E x' = A x + B u, y = C x + D u, with names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.analysis.linear.axis_names import Names, Selection, default_names, positions, read_out
from daedalus.analysis.linear.continuous_system import ContinuousSystem
from daedalus.analysis.linear.lti import LTI
from daedalus.analysis.linear.pencils.linear_dae import LinearDae
from daedalus.analysis.linear.pencils.proper_form import polynomial_part, state_space
from daedalus.analysis.linear.pencils.reachability import Reachability
from daedalus.analysis.linear.pole_stability import Stability, judge
from daedalus.analysis.linear.real_matrix import matrix
from daedalus.analysis.linear.responses.descriptor_response import respond
from daedalus.analysis.linear.responses.discrete_lti import DiscreteLTI
from daedalus.analysis.linear.responses.response import Response
from daedalus.analysis.linear.system_matrices import GivenNames, complete
from daedalus.analysis.linear.system_text import describe, labelled
from daedalus.analysis.linear.transfer import transfer_values
from daedalus.analysis.linear.transfer_forms import companion, divided
from daedalus.errors import InputError, SingularModelError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import counted

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False, init=False, repr=False)
class DescriptorSystem(LinearDae, ContinuousSystem):
    """E x' = A x + B u, y = C x + D u, with names: a linear DAE, and what `dd.linearise` returns.

    Parameters
    ----------
    E, A: (m, n); E may be singular.
    B: (m, nu), or (m,) for one input; no inputs when left out.
    C: (ny, n); all states, under their own names, when left out.
    D: (ny, nu); zero when left out.
    states, inputs, outputs: names; `states` are those of all columns, differential and algebraic.
    point: where a nonlinear model was linearised; kept as it is.

    Example
    -------
    >>> from daedalus.analysis.linear.descriptor import DescriptorSystem
    >>> divider = DescriptorSystem([[1, 0], [0, 0]], [[0, 1], [-1, -2]], [0, 1], states=["charge", "current"])
    >>> print(divider)
    E x' = A x + B u, y = C x + D u; regular, index 1
      states: charge, current
      inputs: u
      outputs: charge, current
      poles: -0.5 and 1 infinite
    >>> divider.to_state_space().select(outputs="current").D.tolist()
    [[0.5]]
    """

    point: Any

    def __init__(
        self,
        E: object,
        A: object,
        B: object = None,
        C: object = None,
        D: object = None,
        *,
        states: GivenNames = None,
        inputs: GivenNames = None,
        outputs: GivenNames = None,
        point: Any = None,
    ) -> None:
        A = matrix(A, "A")
        E = matrix(E, "E", *A.shape)
        fields = {"E": E, **complete(A, B, C, D, states, inputs, outputs), "point": point}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    # -- what it is --------------------------------------------------------------------------------------------

    @property
    def is_regular(self) -> bool:
        """Whether the equations determine the states: s E - A square and not singular for all s."""
        return self.pencil.regular

    @property
    def index(self) -> int | None:
        """The index of the DAE; 0 for an ODE, None when the pencil is singular."""
        return self.pencil.index

    def poles(self, infinite: bool = False) -> np.ndarray:
        """The finite poles, by real part, complex; with infinite=True the infinite ones follow as `inf`.

        Example
        -------
        >>> from daedalus.analysis.linear.descriptor import DescriptorSystem
        >>> system = DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]])
        >>> system.poles().real.round(12).tolist(), system.poles(infinite=True).real.round(12).tolist()
        ([-1.0], [-1.0, inf])
        """
        found = np.array(self.pencil.finite)
        return np.append(found, np.full(self.pencil.infinite, np.inf)) if infinite else found

    @cached_property
    def improper(self) -> tuple[np.ndarray, ...]:
        """P₁, P₂, ... in y = ... + P₁ u' + P₂ u'' + ..., each (ny, nu); empty for a proper system."""
        return tuple(polynomial_part(self.C, self.B, self.pencil.weierstrass())[1:])

    @property
    def is_proper(self) -> bool:
        """Whether no output contains derivatives of inputs, so that a state space exists."""
        return not self.improper

    def transfer(self, s: object) -> np.ndarray:
        """C (s E - A)⁻¹ B + D, (..., ny, nu) complex for s of any shape.

        Example
        -------
        >>> from daedalus.analysis.linear.descriptor import DescriptorSystem
        >>> DescriptorSystem([[0, 1], [0, 0]], [[1, 0], [0, 1]], [0, 1]).transfer(2.0).real.tolist()
        [[-2.0], [-1.0]]
        """
        if not self.is_regular:
            raise SingularModelError(
                "The system has no transfer function.",
                f"{counted(len(self.E), 'equation')}, {counted(len(self.states), 'unknown')}; s E - A is singular",
                because="the equations do not determine the states.",
                remedy="print(system.pencil), or dd.analyse(model) for the names",
            )
        return transfer_values(self.E, self.A, self.B, self.C, self.D, s)

    def stability(self) -> Stability:
        """Whether all finite poles are left of the imaginary axis, with the margin and its uncertainty.

        Example
        -------
        >>> import daedalus as dd
        >>> print(dd.DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]]).stability())
        stable: every pole is left of the imaginary axis, the closest at -1 (margin 1)
        """
        return judge(self._moving.A)

    @property
    def is_stable(self) -> bool:
        """Whether every free response decays: all finite poles are left of the imaginary axis by more than rounding."""
        return self.stability().stable

    def controllability(self, tolerance: float | None = None) -> Reachability:
        """Whether the inputs can reach all states that the equations leave free; algebraic ones follow from these.

        Parameters
        ----------
        tolerance: as in `dd.LTI(...).controllability`.

        Example
        -------
        >>> import daedalus as dd
        >>> bool(dd.DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0]).controllability())
        True
        """
        return self._moving.controllability(tolerance)

    def observability(self, tolerance: float | None = None) -> Reachability:
        """Whether the outputs determine all states that the equations leave free.

        Example
        -------
        >>> import daedalus as dd
        >>> bool(dd.DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0], [0, 1]).observability())
        True
        """
        return self._moving.observability(tolerance)

    @cached_property
    def _moving(self) -> LTI:
        """The states that the equations leave free, and what outputs see of them."""
        return state_space(self, drop_input_rates=True)

    # -- other forms -------------------------------------------------------------------------------------------

    def to_state_space(self) -> LTI:
        """The proper state space x' = A x + B u, y = C x + D u with the same transfer function.

        Its states are states of this system, if some of them determine the motion and do not jump with the inputs;
        otherwise they are named slow[0], slow[1], ... Raises a SingularModelError that names the outputs with
        derivatives of inputs.

        Example
        -------
        >>> from daedalus.analysis.linear.descriptor import DescriptorSystem
        >>> system = DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0], states=["x", "z"])
        >>> space = system.to_state_space()
        >>> space.states, space.A.round(12).tolist(), space.C.round(12).tolist()
        (('x',), [[-1.0]], [[1.0], [1.0]])
        """
        return state_space(self)

    def reduced(self) -> LTI:
        """The same as `to_state_space()`: the system without its algebraic variables.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0]).reduced().A.round(12).tolist()
        [[-1.0]]
        """
        return self.to_state_space()

    def discretise(self, h: float, hold: str = "zero") -> DiscreteLTI:
        """The exact sampled system for inputs held ("zero") or linear ("linear") over steps of length h.

        Raises a SingularModelError that names the outputs with derivatives of inputs, because held inputs would cause
            impulses.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0]).discretise(0.1).A.round(6).tolist()
        [[0.904837]]
        """
        return self.to_state_space().discretise(h, hold)

    def respond(self, times: object, inputs: object = None, start: object = None, sampled: str = "linear") -> Response:
        """The exact response at the given times, for every index.

        Parameters
        ----------
        times, inputs, sampled: as in `dd.LTI(...).respond`. An index of k requires k - 1 derivatives of the inputs. A
            table or function is differentiated between its points, and a jump causes impulses, which `notes` and
            `impulses` list.
        start: values by name that do not contradict each other (the rest is computed); or all states (n,), which are
            first moved onto the equations. By default the system starts at rest.

        Raises a SingularModelError if the equations do not determine the states.

        Example
        -------
        >>> import daedalus as dd
        >>> shift = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
        >>> twice = dd.DescriptorSystem(shift, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 0, -1],
        ...                             states=["acceleration", "speed", "place"], inputs=["path"])
        >>> r = twice.respond([0.0, 1.0, 2.0], {"path": lambda t: t**3})
        >>> r["acceleration"][1:].round(6).tolist(), r["speed"][1:].round(6).tolist()
        ([6.0, 12.0], [3.0, 12.0])
        """
        return respond(self, times, inputs, start, sampled)

    @classmethod
    def from_transfer_function(cls, numerator: object, denominator: object, **names: Any) -> DescriptorSystem:
        """A descriptor system with a transfer function, improper ones included; coefficients highest power first.

        Derivatives of the input become states: 0 = u - w₀, w₁ = w₀', ......

        Example
        -------
        >>> import daedalus as dd
        >>> lead = dd.DescriptorSystem.from_transfer_function([1.0, 0.0, 1.0], [1.0, 2.0])        # (s² + 1) / (s + 2)
        >>> lead.index, lead.transfer(1.0).real.round(12).item(), lead.poles().real.round(12).tolist()
        (2, 0.666666666667, [-2.0])
        """
        quotient, rest, bottom = divided(numerator, denominator)
        A, B, C = companion(rest, bottom)
        n, k = len(A), len(quotient)
        E, whole = np.zeros((n + k, n + k)), np.zeros((n + k, n + k))
        E[:n, :n], whole[:n, :n] = np.eye(n), A
        # The last block: 0 = u - w₀ and w_{j-1}' = w_j.
        whole[n:, n:] = np.diag([-1.0, *[1.0] * (k - 1)])
        E[n + 1 :, n:-1] = np.eye(k - 1)
        drive = np.vstack([B, np.eye(k, 1)])
        return cls(E, whole, drive, np.hstack([C, quotient[None, ::-1]]), **names)

    def _for_gains(self, names: Names) -> tuple[LTI, np.ndarray, np.ndarray, float]:
        space = self.to_state_space()
        if not names:
            return space, np.zeros((0, len(space.A))), np.zeros((0, len(self.inputs))), 0.0
        reading = DescriptorSystem(
            self.E, self.A, self.B, np.eye(len(self.states))[[self.states.index(name) for name in names]],
            states=self.states, inputs=self.inputs, outputs=[f"weighed {name}" for name in names],
        ).to_state_space()  # fmt: skip
        return reading, reading.C, reading.D, 0.0

    def to_control(self) -> Any:
        """The proper state space as a `control.StateSpace` of python-control, with the names.

        Example
        -------
        >>> from daedalus.analysis.linear.descriptor import DescriptorSystem
        >>> from importlib.util import find_spec
        >>> system = DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0])
        >>> space = system.to_control() if find_spec("control") else None
        """
        return self.to_state_space().to_control()

    def to_scipy_signal(self) -> Any:
        """The proper state space as a `scipy.signal.StateSpace`, which has no names.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0]).to_scipy_signal().A.round(12).tolist()
        [[-1.0]]
        """
        return self.to_state_space().to_scipy_signal()

    def select(self, states: Selection = None, inputs: Selection = None, outputs: Selection = None) -> DescriptorSystem:
        """The system with the chosen inputs and outputs, and with all states but the chosen ones held at zero.

        Parameters
        ----------
        states: the states to keep. For each of the others, its column and the equation of its derivative are dropped;
            this needs an equation in which no other derivative appears. None keeps all.
        inputs: None keeps all; those left out are zero.
        outputs: names of outputs or of states; None keeps all.

        Example
        -------
        >>> from daedalus.analysis.linear.descriptor import DescriptorSystem
        >>> system = DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0], states=["x", "z"])
        >>> system.select(outputs="z").C.tolist()
        [[0.0, 1.0]]
        """
        kept = positions(self.states, states, "state")
        held = [k for k in range(len(self.states)) if k not in kept]
        lost = [self._row_of(k) for k in held]
        rows = [k for k in range(len(self.E)) if k not in lost]
        driven = positions(self.inputs, inputs, "input")
        C, D, names = read_out(self.states, self.outputs, self.C, self.D, outputs)
        return DescriptorSystem(
            self.E[np.ix_(rows, kept)],
            self.A[np.ix_(rows, kept)],
            self.B[np.ix_(rows, driven)],
            C[:, kept],
            D[:, driven],
            states=[self.states[k] for k in kept],
            inputs=[self.inputs[k] for k in driven],
            outputs=names,
            point=self.point,
        )

    def _row_of(self, state: int) -> int:
        """The equation that gives the derivative of one state and of no other."""
        rows = np.flatnonzero(self.E[:, state])
        alone = [int(k) for k in rows if np.count_nonzero(self.E[k]) == 1]
        if len(rows) == 1 and alone:
            return alone[0]
        raise InputError(
            f"The state {self.states[state]!r} cannot be held.",
            "it is algebraic"
            if len(rows) == 0
            else f"its derivative appears in {counted(len(rows), 'equation')} with others",
            because="no equation belongs to it alone, so none can be left out with it.",
            remedy="to_state_space().select(states=...), which has one equation for each state",
        )

    def to_xarray(self) -> xarray.Dataset:
        """The matrices as an xarray Dataset with names along their axes, for selecting blocks.

        Example
        -------
        >>> from daedalus.analysis.linear.descriptor import DescriptorSystem
        >>> system = DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], states=["x", "z"])
        >>> system.to_xarray()["A"].sel(state="z").values.tolist()
        [1.0, -1.0]
        """
        matrices = {name: getattr(self, name) for name in "EABCD"}
        rows = default_names("equation", self.E.shape[0])
        return labelled(matrices, ("equation", rows), self.states, self.inputs, self.outputs)

    def to_latex(self) -> str:
        """The equations in LaTeX, with the names and the numbers of all matrices."""
        from daedalus.display.formulas.object_latex import linear_system_latex

        return linear_system_latex(self, descriptor=True)

    def __str__(self) -> str:
        kind = f"regular, index {self.index}" if self.is_regular else "singular"
        note = f" and {self.pencil.infinite} infinite" if self.pencil.infinite else ""
        equations = f"E x' = A x + B u, y = C x + D u; {kind}"
        return describe(equations, self.states, self.inputs, self.outputs, self.poles(), note)
