"""Derived equations against the residual that a run evaluates: the model's own, compiled, at random points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import casadi as ca
import numpy as np

from daedalus.compilation.compile import compile_function
from daedalus.derivations.usual_values import DRAWN_AWAY, LITTLE
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS

# Points at which formulas are compared: one that differs does so at all but accidental ones.
POINTS = 8


def compiled_residual(system: System, derived: Mapping[str, ca.SX], units: Iterable[str] = ()) -> float:
    """The largest relative difference between derived residuals, by the label of their equation, and compiled ones.

    units: names of variables of length one, such as a quaternion. Where both are defined nowhere else, points are drawn
    near the start values. NaN where no point was found.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x, name="law")
    >>> compiled_residual(m.freeze(), {"law": m.der(x) + x})
    0.0
    """
    if not derived:
        return 0.0
    rows = [system.equation_labels.index(label) for label in derived]
    symbols = system.symbols()
    own = ca.Function("derived", symbols, [ca.densify(ca.vertcat(*derived.values()))])
    spheres = [np.asarray(system.place(name).positions) for name in units]
    run = compile_function(ca.Function("F", symbols, [ca.densify(system.residual)]), wait=True)
    draw, worst, count = np.random.default_rng(1788), 0.0, 0
    written = [np.nan_to_num(system.start.get(letter, np.zeros(s.numel()))) for letter, s in zip(ARGUMENTS, symbols)]
    for k in range(6 * POINTS):
        if k >= 4 * POINTS and count:
            break
        values = [draw.uniform(0.2, 1.6, s.numel()) for s in symbols]
        if k >= 4 * POINTS:
            values = [v + (DRAWN_AWAY * abs(v) + LITTLE) * draw.uniform(-1.0, 1.0, len(v)) for v in written]
        if k < 2 * POINTS:
            values = [v * draw.choice([-1.0, 1.0], len(v)) for v in values]
        for place in spheres:
            values[2][place] /= np.linalg.norm(values[2][place])
        found = own(*values).full().ravel()
        expected = run(*values)[0][rows]
        if np.all(np.isfinite(found)) and np.all(np.isfinite(expected)):
            count += 1
            worst = max(worst, float(np.max(np.abs(found - expected) / np.maximum(1.0, np.abs(expected)))))
        if count == POINTS:
            break
    return worst if count else float("nan")
