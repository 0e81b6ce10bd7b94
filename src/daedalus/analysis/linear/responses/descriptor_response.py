"""The response of a descriptor system E x' = A x + B u of any index, exact, with impulses named.

In the coordinates of the Weierstrass form x = slow s + fast f

    s' = M s + left_slow B u,        f = -Σ_k Nᵏ b u⁽ᵏ⁾,  b = left_fast B,

so that an index of k asks for k - 1 derivatives of the inputs. Where one of these jumps by Δ, the next is an impulse:
at that time x contains -fast Σ_k Nᵏ b Δ_{k-1-r} δ⁽ʳ⁾, which samples cannot show and notes name.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import factorial

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.analysis.linear.axis_names import positions
from daedalus.analysis.linear.pencils.linear_dae import LinearDae
from daedalus.analysis.linear.pencils.weierstrass import Weierstrass
from daedalus.analysis.linear.responses.linear_response import check_times, march, start_numbers
from daedalus.analysis.linear.responses.piecewise_inputs import PiecewiseInputs, read_inputs
from daedalus.analysis.linear.responses.response import Impulse, Response
from daedalus.errors import InputError
from daedalus.model.names import counted

# Below this share of the largest number in play a jump, an impulse or a disagreement is rounding.
NOTHING = 1e-7


def respond(system: LinearDae, times: object, inputs: object, start: object, sampled: str) -> Response:
    """The states, inputs and outputs at the given times."""
    grid = check_times(times)
    u = read_inputs(inputs, grid, system.inputs, sampled)
    parts = system.pencil.weierstrass()
    driven = parts.left_fast @ system.B
    at_start = _fast(parts, driven, _derivatives(u, 0, parts.index))
    s0, jump = _slow_start(system, start, at_start)
    slow = march(parts.M, parts.left_slow @ system.B, u, s0)
    fast = np.array([_fast(parts, driven, _derivatives(u, int(i), parts.index)) for i in u.sample])
    x = slow @ parts.slow.T + fast.reshape(len(grid), -1) @ parts.fast.T
    y = x @ system.C.T + u.values @ system.D.T
    impulses = (*_at_start(system, grid[0], jump), *_at_jumps(system, driven, u))
    notes = (*u.notes, *(str(impulse) for impulse in impulses))
    if len(jump) and np.abs(jump).max(initial=0.0) > 0:
        notes = (*notes, f"the start does not obey the equations: x jumps onto them at t = {grid[0]:g}")
    names = (system.states, system.inputs, system.outputs)
    return Response(grid, x, u.values, y, *names, notes, impulses)


def _derivatives(u: PiecewiseInputs, i: int, count: int) -> np.ndarray:
    """u, u', ... behind the i-th point of the grid, before the last one; (count, nu)."""
    if len(u.grid) < 2:
        return np.vstack([u.values[:1], np.zeros((max(count, 1) - 1, u.values.shape[1]))])
    if i == len(u.grid) - 1:
        return _left(u, i, max(count, 1))
    rows, length = u.coefficients[i], u.grid[i + 1] - u.grid[i]
    found = np.zeros((max(count, 1), rows.shape[1]))
    for k in range(min(count, len(rows))):
        found[k] = factorial(k) * rows[k] / length**k
    return found


def _fast(parts: Weierstrass, driven: np.ndarray, derivatives: np.ndarray) -> np.ndarray:
    """f = -Σ Nᵏ b u⁽ᵏ⁾."""
    total, power = np.zeros(len(parts.N)), driven
    for row in derivatives[: parts.index]:
        total, power = total - power @ row, parts.N @ power
    return total


def _slow_start(system: LinearDae, start: object, at_start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s at the first time, and by how much the fast part of a start that is given as a whole is off."""
    parts, n = system.pencil.weierstrass(), len(system.states)
    none = np.zeros(len(parts.N))
    if start is None:
        return np.zeros(len(parts.M)), none
    if not isinstance(start, Mapping):
        whole = start_numbers(start, n, "the states")
        found = np.linalg.solve(np.hstack([parts.slow, parts.fast]), whole)
        off = found[len(parts.M) :] - at_start
        scale = NOTHING * (np.abs(found).max(initial=0.0) + np.abs(at_start).max(initial=0.0))
        return found[: len(parts.M)], np.where(np.abs(off) > scale, off, 0.0)
    places: list[int] = []
    values: list[float] = []
    for name, value in start.items():
        own = positions(system.states, name, "state")
        places += own
        values += start_numbers(value, len(own), name).tolist()
    wanted = np.array(values) - parts.fast[places] @ at_start
    s, *_ = np.linalg.lstsq(parts.slow[places], wanted, rcond=None)
    gap = np.abs(parts.slow[places] @ s - wanted)
    if np.any(gap > NOTHING * (NOT_ZERO + np.abs(values).max(initial=0.0) + np.abs(wanted).max(initial=0.0))):
        worst = int(np.argmax(gap))
        raise InputError(
            "The start values do not obey the equations.",
            f"{system.states[places[worst]]} = {values[worst]:g} is off by {gap[worst]:.3g}",
            because=f"the start leaves {counted(len(parts.M), 'value')} free, and the inputs decide on the others.",
            remedy="fewer values by name, or all states as a vector, from which they jump onto the equations",
        )
    return s, none


def _at_start(system: LinearDae, time: float, jump: np.ndarray) -> list[Impulse]:
    """The impulses with which a start off the equations jumps onto them: -Σ_{k≥1} Nᵏ (f(0-) - f(0+)) δ⁽ᵏ⁻¹⁾."""
    found, power, parts = [], np.array(jump), system.pencil.weierstrass()
    for order in range(parts.index - 1):
        power = parts.N @ power
        found += _named(system, time, order, -(parts.fast @ power))
    return found


def _at_jumps(system: LinearDae, driven: np.ndarray, u: PiecewiseInputs) -> list[Impulse]:
    """The impulses where inputs or their derivatives jump inside of the response."""
    parts = system.pencil.weierstrass()
    index = parts.index
    if index < 2:
        return []
    found: list[Impulse] = []
    size = np.abs(u.coefficients).max(axis=(0, 1), initial=0.0)
    for i in range(1, len(u.grid) - 1):
        before = _left(u, i, index)
        behind = _derivatives(u, i, index)
        shortest = min(u.grid[i + 1] - u.grid[i], u.grid[i] - u.grid[i - 1])
        steps = behind - before
        # A derivative of order k is known as well as its input over the shorter interval.
        steps[np.abs(steps) <= NOTHING * size / shortest ** np.arange(len(steps))[:, None]] = 0.0
        for order in range(index - 1):
            total, power = np.zeros(len(parts.N)), driven
            for k in range(1, index):
                power = parts.N @ power
                if k - 1 - order >= 0:
                    total = total - power @ steps[k - 1 - order]
            found += _named(system, float(u.grid[i]), order, parts.fast @ total)
    return found


def _left(u: PiecewiseInputs, i: int, count: int) -> np.ndarray:
    """u, u', ... before the i-th point of the grid."""
    rows, length = u.coefficients[i - 1], u.grid[i] - u.grid[i - 1]
    found = np.zeros((count, rows.shape[1]))
    for k in range(min(count, len(rows))):
        falling = [factorial(j) / factorial(j - k) for j in range(k, len(rows))]
        found[k] = np.array(falling) @ rows[k:] / length**k
    return found


def _named(system: LinearDae, time: float, order: int, sizes: np.ndarray) -> list[Impulse]:
    largest = np.abs(sizes).max(initial=0.0)
    return [
        Impulse(float(time), system.states[k], order, float(value))
        for k, value in enumerate(sizes)
        if abs(value) > NOTHING * largest and largest > 0
    ]
