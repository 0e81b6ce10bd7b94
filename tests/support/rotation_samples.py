"""What the tests of rotations share: random rotations with a taste for singular places, symbols put to numbers."""

from collections.abc import Callable

import casadi as ca
import numpy as np
from hypothesis import strategies as st

# Distances from a singular angle, from rounding level to plainly visible.
NEARNESS = [0.0, 1e-300, 1e-160, 1e-17, 1e-15, 1e-12, 1e-9, 1e-8, 1e-6, 1e-4, 1e-2]
SPECIAL = [centre + side * d for centre in (0.0, np.pi / 2, np.pi) for side in (-1, 1) for d in NEARNESS]

angles = st.one_of(st.floats(-np.pi, np.pi), st.sampled_from([*SPECIAL, *(-a for a in SPECIAL)]))
coordinates = st.one_of(st.floats(-1, 1), st.sampled_from([0.0, 1.0, -1.0, 1e-9]))


@st.composite
def directions(draw: st.DrawFn, size: int) -> np.ndarray:
    """A unit vector, often along an axis or close to one."""
    v = np.array([draw(coordinates) for _ in range(size)])
    length = np.linalg.norm(v)
    return v / length if length > 1e-3 else np.eye(size)[0]


@st.composite
def rotation_vectors(draw: st.DrawFn) -> np.ndarray:
    """Axis times angle, the angle from 0 to π."""
    return draw(directions(3)) * min(abs(draw(angles)), np.pi)


unit_quaternions = directions(4)


def from_symbols(function: Callable, *values, kind: type = ca.SX) -> list[np.ndarray]:
    """The function applied to symbols and then evaluated at the numbers: a list, one array for each result."""
    arrays = [np.asarray(value, float) for value in values]
    symbols = [kind.sym(f"s{i}", *(a.shape or (1,))) for i, a in enumerate(arrays)]
    results = function(*symbols)
    results = list(results) if isinstance(results, tuple) else [results]
    evaluated = ca.Function("f", symbols, results).call([ca.DM(a) for a in arrays])
    return [result.full() for result in evaluated]


def slope(function: Callable, value, kind: type = ca.SX) -> np.ndarray:
    """CasADi's Jacobian of a function of one vector, at a value."""
    x = kind.sym("x", len(value))
    return ca.Function("J", [x], [ca.jacobian(ca.vec(function(x)), x)])(value).full()


def differences(function: Callable, value, step: float = 1e-6) -> np.ndarray:
    """Central differences of the numbers, column-major like CasADi's."""
    value = np.asarray(value, float)
    columns = [(function(value + step * e) - function(value - step * e)) / (2 * step) for e in np.eye(len(value))]
    return np.stack([column.flatten(order="F") for column in columns], axis=1)
