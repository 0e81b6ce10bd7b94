"""Tell whether ∂F/∂x' is one constant matrix, as the Rosenbrock methods need it.

They solve M x' = f(t, x, z) with a matrix M that is put in front of every stage alike. Where ∂F/∂x' depends on time, on
the state, on an input or on x' itself, a Rosenbrock method still runs but loses its order. Parameters are constant in a
run.
"""

from __future__ import annotations

import casadi as ca

from daedalus.analysis.structure.system_structure import structure_of
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System


@remembered
def varying_mass(system: System) -> list[str]:
    """The labels of what ∂F/∂x' depends on beside parameters; empty where it is constant.

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus.simulation.plant.constant_mass import varying_mass
    >>> m = dd.Model("tank")
    >>> h, area = m.state("h", start=1.0), m.parameter("area", 2.0)
    >>> m.equation(area * m.der(h), -h)
    >>> varying_mass(m.freeze())
    []
    >>> cone = dd.Model("cone")
    >>> h = cone.state("h", start=1.0)
    >>> cone.equation(h**2 * cone.der(h), -h)
    >>> varying_mass(cone.freeze())
    ['h']
    """
    # A column of the entries that there are: the zeros of a large field take gigabytes.
    slopes = structure_of(system).slopes("xdot")
    entries = ca.simplify(ca.SX(ca.Sparsity.dense(slopes.nnz()), slopes.nz[:]))
    found = []
    for letter in ("t", "xdot", "x", "z", "u"):
        symbols = system.symbol(letter)
        if symbols.numel() == 0 or not ca.depends_on(entries, symbols):
            continue
        labels = ["t"] if letter == "t" else list(system.labels[letter])
        depends = ca.which_depends(entries, symbols, 1, False)
        found += [label for label, moves in zip(labels, depends) if moves]
    return found
