"""The first row (x, z, x') of a run that goes on where another one was: its values as they are, if they are consistent.

A run of the reduced model has all of x, z and x' by name, and keeps the hidden constraints. So nothing needs solving;
what is checked is F = 0, and for equations in x and t alone that their derivative (dF/dx) x' + dF/dt is zero too.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import CONSISTENT
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.compilation import Compiled, compile_function
from daedalus.errors import InputError
from daedalus.initialisation.start import Start
from daedalus.initialisation.start_in_form import states_in
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.result.samples import Samples


def continued_row(system: System, start: Samples | Start, drive: Drive, t0: float, p: np.ndarray) -> np.ndarray | None:
    """The row from a moment of a run or from what `dd.initialise` found, of whatever form of the model.

    None where a name is missing or the values do not fit the equations.

    Example
    -------
    >>> import numpy as np, daedalus as dd
    >>> from daedalus.simulation.inputs.read_inputs import Drive
    >>> m = dd.Model("circle")
    >>> x = m.state("x", 2, start=[1.0, 0.0]); z = m.algebraic("z")
    >>> m.equation(m.der(x), [-z * x[1], z * x[0]]); m.equation(x[0] * m.der(x)[1] - x[1] * m.der(x)[0], 1.0)
    >>> end = dd.simulate(m, 1.0, rtol=1e-10).end
    >>> continued_row(m.freeze(), end, Drive(np.zeros(0)), 1.0, np.zeros(0)).round(6).tolist()
    [0.540302, 0.841471, 1.0, -0.841471, 0.540302]
    """
    if isinstance(start, Samples) and start._times.size != 1:
        return None
    own = start._plant.system.labels if isinstance(start, Samples) else start.system.labels
    try:
        x, z, xdot = (
            _vector(start, k) if own[k] == system.labels[k] else _by_name(system, start, k) for k in ("x", "z", "xdot")
        )
    except (InputError, KeyError):  # a name is missing
        return None
    u = drive.at_time(t0)
    left, size = once(system, _checks)(np.array([t0]), xdot, x, z, u, p)
    fits = np.all(np.isfinite(left)) and np.all(np.abs(left) <= CONSISTENT * size)
    return np.concatenate([x, z, xdot]) if fits else None


def _vector(start: Samples | Start, letter: str) -> np.ndarray:
    return start._vector(letter)[0] if isinstance(start, Samples) else start.vectors[letter]


def _by_name(system: System, start: Samples | Start, letter: str) -> np.ndarray:
    """One vector of a system from the values of another form of its model."""
    labels = system.labels[letter]
    if letter == "x":
        states = states_in(system, start)
        return np.array([states[label] for label in labels])
    return np.array([float(np.asarray(start[label]).reshape(())) for label in labels])


def _checks(system: System) -> Compiled:
    """What is left of all checks, and the size of their terms."""
    t, xdot, x, z, u, p = system.symbols()
    sizes = [ca.fmax(ca.fabs(s), ca.DM(system.nominal[k])) for s, k in ((x, "x"), (z, "z"))]
    sizes.append(ca.fabs(xdot))
    structure = structure_of(system)
    slopes = [structure.slopes(letter) for letter in ("x", "z", "xdot")]
    alone = structure.rows_without("xdot", "z", "u")
    along = ca.mtimes(slopes[0][alone, :], xdot) + structure.slopes("t")[alone, :]
    terms = ca.vertcat(
        sum((ca.mtimes(ca.fabs(slope), size) for slope, size in zip(slopes, sizes)), ca.SX(0)),
        ca.mtimes(ca.fabs(slopes[0][alone, :]), ca.fmax(ca.fabs(xdot), ca.DM(system.nominal["x"]))),
    )
    outputs = [ca.densify(ca.vertcat(system.residual, along)), ca.densify(terms)]
    return compile_function(ca.Function("checks", [t, xdot, x, z, u, p], outputs))
