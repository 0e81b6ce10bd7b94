"""Natural frequencies, damping and mode shapes of a model at an equilibrium, constraints included.

The poles are the finite eigenvalues of λ E v = A v. A pole λ = -ζ ω ± i ω √(1 - ζ²) has the natural frequency ω = |λ|
and the damping ratio ζ = -Re λ / |λ|; its eigenvector v is the mode shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.analysis.linear.axis_names import Names, positions
from daedalus.analysis.linear.descriptor import DescriptorSystem
from daedalus.analysis.linear.linearise import linearise
from daedalus.analysis.linear.lti import LTI
from daedalus.analysis.linear.system_text import complex_text
from daedalus.analysis.points.equilibrium import equilibrium
from daedalus.model.model import Model
from daedalus.model.names import derivative_name, split_derivative, split_index
from daedalus.model.system.system import System

# A pole counts as zero within so many times the rounding error that its eigenvectors let through.
TIMES_ROUNDING = 30.0


@dataclass(frozen=True, eq=False, repr=False)
class Modes:
    """The result of `dd.modes`: how a model swings, one column per mode, slowest first. `print` shows them.

    Attributes
    ----------
    poles: (k,) complex; one of each conjugate pair, that above the real axis, and every real pole.
    frequencies: (k,) natural frequencies |λ| in radians per unit of time; zero for free motion.
    damping: (k,) ratios -Re λ/|λ|: 0 undamped, 1 no oscillation, negative when the mode grows; 0 for free motion.
    names: what the rows of `shapes` belong to: the states that are no rates of others.
    shapes: (n, k) complex, scaled so that the largest entry of each mode is 1; the angle of an entry is its phase.
    point: where the model was linearised. warnings: what is wrong with that point, in words.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("two masses on three springs")
    >>> q = m.state("q", 2, start=[0.1, 0.0], rate=0.0)
    >>> m.equation(m.der(m.der(q)), [q[1] - 2 * q[0], q[0] - 2 * q[1]])
    >>> print(dd.modes(m))
    2 modes
      frequency  damping  pole               shape
      1          0        0 + 1j             q[0] 1, q[1] 1
      1.732      0        0 + 1.732j         q[0] 1, q[1] -1
    """

    poles: np.ndarray
    frequencies: np.ndarray
    damping: np.ndarray
    names: Names
    shapes: np.ndarray
    states: Names
    all_shapes: np.ndarray
    point: Any
    warnings: tuple[str, ...]

    def __post_init__(self) -> None:
        for array in (self.poles, self.frequencies, self.damping, self.shapes, self.all_shapes):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.poles)

    def __getitem__(self, name: str) -> np.ndarray:
        """The rows of a name, also of rates and algebraic variables: (k,) for a scalar, (elements, k) else."""
        rows = positions(self.states, name, "state")
        return self.all_shapes[rows[0]] if name in self.states else self.all_shapes[rows]

    @property
    def periods(self) -> np.ndarray:
        """(k,) the time of one swing 2π/|Im λ|; infinite for modes that do not oscillate."""
        speed = np.abs(self.poles.imag)
        return np.where(speed > 0, 2 * np.pi / np.where(speed > 0, speed, 1.0), np.inf)

    def __repr__(self) -> str:
        return f"Modes({len(self)}: {', '.join(f'{w:.4g}' for w in self.frequencies[:8])})"

    def __str__(self) -> str:
        lines = [f"{len(self)} mode{'' if len(self) == 1 else 's'}"]
        lines.append(f"  {'frequency':<10} {'damping':<8} {'pole':<18} shape")
        size = np.abs(self.poles).max(initial=0.0)
        for k in range(len(self)):
            pole = complex(
                *(part if abs(part) > 1e-12 * size else 0.0 for part in (self.poles[k].real, self.poles[k].imag))
            )
            text = complex_text(pole) if pole.imag == 0 or pole.real else f"0 + {pole.imag:.4g}j"
            ratio = self.damping[k] if abs(self.damping[k]) > 1e-12 else 0.0
            lines.append(f"  {self.frequencies[k]:<10.4g} {ratio:<8.4g} {text:<18} {self._shape_text(k)}")
        return "\n".join([*lines, *(f"  {warning}" for warning in self.warnings)])

    def _shape_text(self, k: int, most: int = 4) -> str:
        """The largest entries of a shape: a signed number where the phase is 0° or 180°, else size and phase."""
        order = np.argsort(-np.abs(self.shapes[:, k]), kind="stable")[:most]
        entries = []
        for row in sorted(order):
            value = self.shapes[row, k]
            if abs(value) <= 1e-12:
                entries.append(f"{self.names[row]} 0")
            elif abs(value.imag) <= 1e-6 * abs(value):
                entries.append(f"{self.names[row]} {value.real:.3g}")
            else:
                entries.append(f"{self.names[row]} {abs(value):.3g} ∠ {np.degrees(np.angle(value)):.0f}°")
        return ", ".join(entries) + (", …" if len(self.names) > most else "")


def modes(
    model: Model | System | DescriptorSystem | LTI,
    at: object = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
) -> Modes:
    """Natural frequencies, damping ratios and mode shapes of small motions.

    Parameters
    ----------
    model: a model, or a linear system from `dd.linearise`.
    at: the equilibrium, as values by name or a result of `dd.equilibrium`; by default the equilibrium near the model's
        start.
    inputs, parameters: values by name.

    For constrained models (DAEs of any index), these are the modes of motions that satisfy the constraints. Free
    motions, such as that of a cart on a level rail, appear with frequency zero, once for each of their poles.

    Example
    -------
    >>> import daedalus as dd
    >>> import casadi as ca
    >>> m = dd.Model("pendulum on a rod")
    >>> r = m.state("r", 2, start=[0.1, -1.0], rate=0.0); pull = m.algebraic("pull")
    >>> m.equation(m.der(m.der(r)), ca.vertcat(0, -9.81) - pull * r)
    >>> m.equation(r.T @ r, 1.0)
    >>> swing = dd.modes(m)
    >>> swing.frequencies.round(6).tolist(), abs(swing["r"]).round(6).tolist()
    ([3.132092], [[1.0], [0.0]])
    """
    lin = _linear(model, at, inputs, parameters)
    poles, vectors = _eigenvectors(lin)
    order = np.lexsort((poles.real, poles.imag, np.abs(poles)))
    order = order[poles[order].imag >= 0]
    poles, vectors = poles[order], vectors[:, order]
    rows = _coordinates(lin)
    vectors = _scaled(vectors, rows)
    frequencies = np.abs(poles)
    damping = np.where(frequencies > 0, -poles.real / np.where(frequencies > 0, frequencies, 1.0), 0.0) + 0.0
    return Modes(
        poles=poles,
        frequencies=frequencies,
        damping=damping,
        names=tuple(lin.states[k] for k in rows),
        shapes=vectors[rows],
        states=lin.states,
        all_shapes=vectors,
        point=lin.point,
        warnings=getattr(lin, "warnings", ()),
    )


def _linear(
    model: Model | System | DescriptorSystem | LTI,
    at: object,
    inputs: Mapping[str, object] | None,
    parameters: Mapping[str, object] | None,
) -> DescriptorSystem:
    if isinstance(model, DescriptorSystem):
        return model
    if isinstance(model, LTI):
        return DescriptorSystem(np.eye(len(model.A)), model.A, states=model.states)
    point = equilibrium(model, inputs, parameters=parameters) if at is None else at
    return linearise(model, at=point, inputs=inputs, parameters=parameters)


def _eigenvectors(lin: DescriptorSystem) -> tuple[np.ndarray, np.ndarray]:
    """The finite poles and their vectors (n, k); poles within rounding of zero are zero."""
    from scipy.linalg import eig

    parts = lin.pencil.weierstrass()
    if not len(parts.M):
        return np.zeros(0, dtype=complex), np.zeros((len(lin.states), 0), dtype=complex)
    poles, left, right = eig(parts.M, left=True, right=True)
    # How far rounding moves a pole: inversely as the cosine between its eigenvectors, which vanishes for double poles.
    cosines = np.maximum(np.abs(np.sum(left.conj() * right, axis=0)), EPSILON)
    doubt = TIMES_ROUNDING * EPSILON * np.linalg.norm(parts.M) / cosines
    poles = np.where(np.abs(poles) <= doubt, 0.0, poles)
    return poles, parts.slow @ right


def _coordinates(lin: DescriptorSystem) -> list[int]:
    """The states that move and are not rates of other states."""
    known = set(lin.states)
    moving = np.any(lin.E != 0, axis=0)
    return [k for k, name in enumerate(lin.states) if moving[k] and _integral(name) not in known]


def _integral(name: str) -> str | None:
    """The name that this one is the derivative of: `q[1]` for `q_dot[1]`; None for other names."""
    stem, index = split_index(name)
    origin, order = split_derivative(stem)
    if order == 0:
        return None
    lower = derivative_name(origin, order - 1)
    return lower if index is None else f"{lower}[{','.join(map(str, index))}]"


def _scaled(vectors: np.ndarray, rows: list[int]) -> np.ndarray:
    """Columns whose largest entry among the rows is one."""
    scaled = np.array(vectors)
    for k in range(vectors.shape[1]):
        entries = vectors[rows, k] if len(rows) and np.any(vectors[rows, k]) else vectors[:, k]
        # Among entries of equal size the first counts.
        largest = np.flatnonzero(np.abs(entries) >= (1 - 1e-9) * np.abs(entries).max())[0]
        scaled[:, k] = vectors[:, k] / entries[largest]
    return scaled
