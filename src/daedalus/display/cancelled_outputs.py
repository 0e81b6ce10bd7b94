"""Outputs that are what rounding leaves of large terms: the total momentum of stars is zero, not 1e-14.

An output y(x) is zero but for rounding where |y| <= k eps sum_j |dy/dx_j x_j|, the sum of the terms that cancel in it.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.simulation.result.samples import Samples

# How many roundings may add up, and at how many moments the terms are looked at.
ROUNDINGS, MOMENTS = 64, 5
# Formulas up to this length are looked at.
LONGEST = 20_000


def is_cancelled(samples: Samples, name: str) -> bool:
    """Whether an output is zero but for rounding in all of its elements, along a run.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("two"); a = m.state("a", start=0.1); b = m.state("b", start=0.2)
    >>> m.equation([m.der(a), m.der(b)], [-a, -b]); m.output("none", 3 * (b - a) - 3 * b + 3 * a)
    >>> m.output("gap", b - a)
    >>> tr = dd.simulate(m, 1.0)
    >>> is_cancelled(tr, "none"), is_cancelled(tr, "gap")
    (True, False)
    """
    system = samples.system
    expression = ca.vec(system.outputs[name])
    letters = ("t", "x", "z", "u", "p")
    columns = system.symbols(letters)
    if ca.depends_on(expression, system.symbols(("xdot",))[0]):
        return False
    if ca.Function("value", columns, [expression]).n_instructions() > LONGEST:
        return False
    terms = ca.mtimes(ca.fabs(ca.jacobian(expression, columns[1])), ca.fabs(columns[1]))
    sizes = ca.Function("sizes", columns, [expression, terms])
    parameters = np.asarray(samples.run_data.parameters, dtype=float)
    for k in np.linspace(0, len(samples.time) - 1, MOMENTS).round().astype(int):
        values = [[float(np.asarray(samples[label])[k]) for label in system.labels[letter]] for letter in "xzu"]
        found, whole = sizes(float(samples.time[k]), *values, parameters)
        if not np.all(np.abs(found.full()) <= ROUNDINGS * EPSILON * whole.full()):
            return False
    return True
