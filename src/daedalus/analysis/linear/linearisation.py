"""The matrices of a system at a point: E δx' = A δx + B δu, δy = C δx + D δu with the model's names.

With F(t, x', x, z, u, p) = 0 and the unknowns w = (x, z):

    E = (∂F/∂x', 0),    A = -∂F/∂w,    B = -∂F/∂u.

An output y = g(t, x', x, z, u, p) gives C = ∂g/∂w + Y A and D = ∂g/∂u + Y B with Y E = (∂g/∂x', 0): the equations stand
in for the derivatives. Where no combination of the equations contains the derivative that an output needs, the output
gets a variable of its own, w = ∂g/∂x' x', so that nothing is lost. Derivatives of inputs follow from the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.agreement import HALF_OF_DIGITS
from daedalus.algebra.rank_decision import SINGULAR, is_singular
from daedalus.analysis.linear.descriptor import DescriptorSystem
from daedalus.analysis.linear.responses.response import Response, with_units
from daedalus.analysis.points.complete_point import equation_sizes, linked_states
from daedalus.analysis.points.operating_point import OperatingPoint, sizes_of
from daedalus.analysis.points.partial_derivatives import partial_derivatives
from daedalus.model.input_rates import system_rates
from daedalus.model.names import listed
from daedalus.model.system.system import System

FOLLOWED = "{name}, followed"
# Printing a linearisation of more states does not judge it.
MOST_ANSWERED = 200


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Linearisation(DescriptorSystem):
    """The result of `dd.linearise(m, at=...)`: a descriptor system that knows its operating point.

    Attributes beside those of `DescriptorSystem`: `point` (values by name, also `point["x_dot"]`), `equations` (the
    name of every row), `residual` (what is left of every equation at the point), `offset` (in absolute values
    E x' = A (x - x0) + B (u - u0) + offset; zero at an equilibrium), `warnings` and `notes` in words.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("logistic")
    >>> x = m.state("x", start=0.5)
    >>> m.equation(m.der(x), x * (1 - x), name="growth")
    >>> lin = dd.linearise(m)
    >>> lin.offset, lin.equations
    (array([0.25]), ('growth',))
    >>> print(lin.warnings[0])
    the point is not an equilibrium (x_dot = 0.25): the matrices describe small deviations from the motion ...
    """

    equations: tuple[str, ...]
    residual: np.ndarray
    offset: np.ndarray
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    def __init__(
        self,
        matrices: Mapping[str, np.ndarray],
        names: Mapping[str, Any],
        point: OperatingPoint,
        record: Mapping[str, Any],
    ) -> None:
        arguments: dict[str, Any] = {**matrices, **names, "point": point}
        super().__init__(**arguments)
        for name, value in record.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    def respond(self, times: object, inputs: object = None, start: object = None, sampled: str = "linear") -> Response:
        """The response of small deviations from the operating point; see `dd.DescriptorSystem.respond`.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("tank")
        >>> h, q = m.state("h", start=1.0, unit="m"), m.input("q")
        >>> m.equation(m.der(h), q - h)
        >>> r = dd.linearise(m, at={"q": 1.0}).respond([0.0, 1.0], {"q": 0.1})
        >>> r["h"].round(4).tolist(), r.units
        ([0.0, 0.0632], {'h': 'm'})
        """
        return with_units(super().respond(times, inputs, start, sampled), self.point.system)

    @property
    def answers(self) -> dict[str, str]:
        """What one asks of a linearisation, each as a sentence with its reason: stability and controllability.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("logistic")
        >>> x, feed = m.state("x", start=1.0), m.input("feed")
        >>> m.equation(m.der(x), x * (1 - x) + feed)
        >>> for question, answer in dd.linearise(m, at={"feed": 0.0}).answers.items():
        ...     print(question, "-", answer)
        stability - stable: every pole is left of the imaginary axis, the closest at -1 (margin 1)
        controllability - controllable: rank 1 of 1, so the inputs reach every state; ...
        """
        if not self.is_regular:
            undecided = "undecided: the equations do not determine the states"
            return {"stability": undecided, "controllability": undecided}
        controllable = str(self.controllability()) if len(self.inputs) else "not controllable: there are no inputs"
        return {"stability": str(self.stability()), "controllability": controllable}

    def __str__(self) -> str:
        answers = self.answers if len(self.states) <= MOST_ANSWERED else {}
        told = [f"{question}: {answer.replace(chr(10), chr(10) + '  ')}" for question, answer in answers.items()]
        return "\n".join([super().__str__(), *(f"  {remark}" for remark in (*told, *self.warnings, *self.notes))])


def linearised(
    system: System, point: OperatingPoint, notes: tuple[str, ...] = (), along_run: bool = False
) -> Linearisation:
    """The linearisation of a system at a complete point; along a run nobody expects rest."""
    derivatives = partial_derivatives(system)
    residual, slopes = derivatives.equations(point.vectors)
    order = row_order(system)
    n, m = system.sizes["x"], system.sizes["z"]
    E = np.hstack([slopes["xdot"], np.zeros((len(residual), m))])[order]
    A = -np.hstack([slopes["x"], slopes["z"]])[order]
    B = -slopes["u"][order]
    # Minus nothing is nothing: no negative zeros.
    A, B = A + 0.0, B + 0.0
    offset = E[:, :n] @ point.vectors["xdot"] - residual[order] + 0.0
    matrices = {"E": E, "A": A, "B": B}
    names: dict[str, Any] = {"states": (*system.labels["x"], *system.labels["z"]), "inputs": system.labels["u"]}
    equations = tuple(system.equation_labels[k] for k in order)
    if derivatives.output_labels:
        matrices, added = _with_outputs(matrices, derivatives.outputs(point.vectors)[1], derivatives.output_labels, n)
        names["outputs"] = derivatives.output_labels
        names["states"] += added
        equations += tuple(f"definition of {name}" for name in added)
        if added:
            notes = (*notes, f"{listed(added)} added: the equations as they stand do not determine these derivatives")
        offset = np.concatenate([offset, np.zeros(len(added))])
    matrices, names, followed = with_inputs_followed(system, matrices, names)
    if followed:
        equations += tuple(f"definition of {name}" for name in followed)
        offset = np.concatenate([offset, np.zeros(len(followed))])
        notes = (*notes, f"{listed(followed)} added: derivatives of inputs follow from the inputs")
    record = {
        "equations": equations,
        "residual": np.concatenate([residual[order], np.zeros(len(equations) - len(order))]),
        "offset": offset,
        "warnings": _warnings(system, point, residual, slopes, along_run),
        "notes": notes,
    }
    return Linearisation(matrices, names, point, record)


def row_order(system: System) -> list[int]:
    """The equations in an order that puts those of the reduction to first order beside their states.

    A model of second order in q then has E = diag(1, M), not M above the diagonal.
    """
    linked = [k for k, _ in linked_states(system)]
    count = len(system.equation_labels)
    if not linked or len(linked) == count:
        return list(range(count))
    links = dict(zip(linked, range(count - len(linked), count)))
    written = iter(range(count - len(linked)))
    return [links[k] if k in links else next(written) for k in range(count)]


def _with_outputs(
    matrices: dict[str, np.ndarray], slopes: Mapping[str, np.ndarray], labels: tuple[str, ...], n: int
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """The matrices with C and D, and the names of the variables that had to be added for derivatives in outputs."""
    E, A, B = matrices["E"], matrices["A"], matrices["B"]
    C, D, rates = np.hstack([slopes["x"], slopes["z"]]), slopes["u"], slopes["xdot"]
    moving = np.flatnonzero(np.any(rates != 0, axis=1))
    if not len(moving):
        return {**matrices, "C": C, "D": D}, ()
    weights, found = _combinations(E[:, :n], rates[moving])
    inside, outside = moving[found], moving[~found]
    C[inside] += weights[found] @ A
    D[inside] += weights[found] @ B
    k = len(outside)
    if k:
        rows, width = A.shape
        E = np.block([[E, np.zeros((rows, k))], [rates[outside], np.zeros((k, width - n + k))]])
        A = np.block([[A, np.zeros((rows, k))], [np.zeros((k, width)), np.eye(k)]])
        B = np.vstack([B, np.zeros((k, B.shape[1]))])
        C = np.hstack([C, np.zeros((len(C), k))])
        C[outside, width + np.arange(k)] = 1.0
    added = tuple(f"rate in {labels[row]}" for row in outside)
    return {"E": E, "A": A, "B": B, "C": C, "D": D}, added


def _combinations(E: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Y with Y E = wanted, row by row, and for which rows there is one."""
    largest = np.abs(E).max(axis=1, initial=0.0)
    rows = np.flatnonzero(largest > 0)
    scaled = E[rows] / largest[rows, None]
    weights = np.zeros((len(wanted), len(E)))
    if len(rows) == E.shape[1] and not is_singular(scaled):
        weights[:, rows] = np.linalg.solve(scaled.T, wanted.T).T / largest[rows]
    elif len(rows):
        weights[:, rows] = np.linalg.lstsq(scaled.T, wanted.T, rcond=SINGULAR)[0].T / largest[rows]
    gap = np.abs(weights @ E - wanted).max(axis=1, initial=0.0)
    return weights, gap <= 1e-9 * np.abs(wanted).max(axis=1, initial=0.0)


def _warnings(
    system: System, point: OperatingPoint, residual: np.ndarray, slopes: Mapping[str, np.ndarray], along_run: bool
) -> tuple[str, ...]:
    """What is wrong with the point, in words: equations that do not hold, and motion."""
    scale = equation_sizes(system, point.vectors, slopes)
    warnings = []
    wrong = np.flatnonzero(~(np.abs(residual) <= HALF_OF_DIGITS * scale))
    if len(wrong):
        worst = wrong[np.argmax(np.abs(residual[wrong]) / scale[wrong])]
        names = [system.equation_labels[k] for k in wrong]
        off = f"{system.equation_labels[worst]} is off by {residual[worst]:.3g}"
        warnings.append(
            f"the point does not obey {listed(names)}: {off}; the matrices are the partial derivatives there, offset "
            "holds what is left"
        )
    resting = residual - slopes["xdot"] @ point.vectors["xdot"]
    moving = np.flatnonzero(np.abs(point.vectors["xdot"]) > HALF_OF_DIGITS * sizes_of(system, point.vectors)["x"])
    if not along_run and len(moving) and np.any(np.abs(resting) > HALF_OF_DIGITS * scale):
        rates = [f"{system.labels['xdot'][k]} = {point.vectors['xdot'][k]:.3g}" for k in moving]
        warnings.append(
            f"the point is not an equilibrium ({listed(rates, 3)}): the matrices describe small deviations from the "
            "motion through it, as long as that stays near; for absolute values add offset"
        )
    return tuple(warnings)


# Derivatives of inputs in a linear system: x' = A x + B u + B₁ u' as a descriptor system with the input u alone.
#
# States that follow the input stand in for its derivatives: 0 = u - w₀, w₀' = w₁, ..., so that u⁽ᵏ⁾ = wₖ. The index
# grows by them, as it should: u' of a u that jumps is an impulse.


def with_inputs_followed(
    system: System, matrices: Mapping[str, np.ndarray], names: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any], tuple[str, ...]]:
    """The matrices and names without derivatives among the inputs, and the states that were added for them."""
    own, told = dict(matrices), dict(names)
    rates = system_rates(system)
    if not rates:
        return own, told, ()
    if "C" not in own:
        own["C"], own["D"] = np.eye(own["A"].shape[1]), np.zeros((own["A"].shape[1], own["B"].shape[1]))
        told["outputs"] = told["states"]
    labels: list[str] = []
    gone: list[int] = []
    for name, levels in rates.items():
        positions = system.places[name].positions
        columns = [system.places[level].positions if level in system.places else None for level in levels]
        for k, place in enumerate(positions):
            chain = [None if own_columns is None else int(own_columns[k]) for own_columns in columns]
            _follow(own, int(place), chain)
            labels.append(FOLLOWED.format(name=system.labels["u"][place]))
            labels += [_element(level, system, name, k) for level in levels]
            gone += [column for column in chain if column is not None]
    kept = [k for k in range(own["B"].shape[1]) if k not in gone]
    own["B"], own["D"] = own["B"][:, kept], own["D"][:, kept]
    told["inputs"] = tuple(told["inputs"][k] for k in kept)
    told["states"] = (*told["states"], *labels)
    return own, told, tuple(labels)


def _element(level: str, system: System, name: str, k: int) -> str:
    label = system.labels["u"][system.places[name].positions[k]]
    return level + label[len(name) :]


def _follow(own: dict[str, np.ndarray], place: int, chain: list[int | None]) -> None:
    """Add the states of one input: w₀ = u, w₁ = w₀', ...; those that are inputs now take the place of these."""
    rows, width = own["A"].shape
    count = len(chain) + 1
    E, A = (np.pad(own[letter], ((0, count), (0, count))) for letter in "EA")
    B, C = np.pad(own["B"], ((0, count), (0, 0))), np.pad(own["C"], ((0, 0), (0, count)))
    A[rows, width], B[rows, place] = -1.0, 1.0
    for k, column in enumerate(chain, 1):
        E[rows + k, width + k - 1] = A[rows + k, width + k] = 1.0
        if column is not None:
            A[:, width + k] += B[:, column]
            C[:, width + k] += own["D"][:, column]
    own.update(E=E, A=A, B=B, C=C)
