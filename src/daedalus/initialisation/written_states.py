"""Which states of a system somebody wrote: they keep their values, while those that a reduction made are solved for.

A reduction makes states of algebraic variables and of derivatives. What the written equations say of them is an
equation like any other, so that their values follow; a value that is left of something else is a guess.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from daedalus.initialisation.start_in_form import derivatives_as_states, standing_for
from daedalus.model.system.closed_loop import opened
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.reduction.reduction_record import reduction_behind


@remembered
def written_states(system: System) -> np.ndarray:
    """Which states were written and have a derivative in the written equations, (n,) bool.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("shifted")
    >>> x, s = m.state("x", start=1.0), m.state("s"); r, f = m.algebraic("r"), m.algebraic("f")
    >>> m.equation(m.der(x), r); m.equation(r, -2 * x); m.equation(m.der(s), f); m.equation(s, r)
    >>> n = dd.reduce(m).freeze()
    >>> dict(zip(n.labels["x"], written_states(n).tolist()))
    {'x': True, 's': True, 'r': False}
    """
    first = first_written(system)
    # A system from a file does not know how it was reduced: its rows do.
    as_written = [k for k, row in enumerate(first.rows) if not row.times]
    pattern = ca.jacobian_sparsity(first.residual[as_written], first.symbol("xdot"))
    moving = np.diff(np.array(pattern.colind())) > 0
    # The derivative of a state may be a state itself.
    own = set(first.labels["x"])
    both = zip(first.labels["x"], first.labels["xdot"], moving)
    names = {label for label, rate, moves in both if moves or rate in own}
    found = np.array([label in names for label in system.labels["x"]], dtype=bool)
    # In first order another state stands for a derivative that was a state, q_rate for q_dot.
    for k, label in enumerate(system.labels["xdot"]):
        if label in names and label not in system.labels["x"]:
            other = standing_for(system, k)
            if other is not None:
                found[other] = True
    found.setflags(write=False)
    return found


@remembered
def given_elsewhere(system: System) -> dict[str, float]:
    """Start values that were written for states of the model that are no states of this form of it, by name.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("coupled"); a, b, c = m.state("a", rate=0.5), m.state("b"), m.state("c"); f = m.algebraic("f", 2)
    >>> m.equation(m.der(m.der(a)), f[0] + f[1]); m.equation(m.der(b), f[1]); m.equation(m.der(m.der(c)), -f[0])
    >>> m.equation([2 * m.der(a) + m.der(c), 2 * m.der(a) - m.der(b)], [0.0, 0.0])
    >>> n = dd.reduce(m).freeze()
    >>> n.labels["x"], given_elsewhere(n)
    (('a', 'b', 'c', 'c_dot'), {'a_dot': 0.5})
    """
    first = first_written(system)
    if first is system and not first.written_starts:
        return {}
    own = {*system.labels["x"], *derivatives_as_states(system).values()}
    written = [*first.written_starts.items(), *zip(first.labels["x"], first.start["x"].tolist())]
    follow = {*system.labels["xdot"], *system.labels["z"]}
    return {label: value for label, value in written if value == value and label not in own and label in follow}


@remembered
def has_other_states(system: System) -> bool:
    """Whether a reduction made this form of the model one of other states, so that open values follow from all."""
    first = first_written(system)
    if first is system or first.written_starts:
        return bool(first.written_starts)
    return set(first.labels["x"]) != set(system.labels["x"])


def with_given_elsewhere(system: System, values: Mapping[str, object]) -> Mapping[str, object]:
    """Start values by name with those that were written for states that this form of the model has not."""
    others = given_elsewhere(system)
    if not others:
        return values
    places = [system.place(name) for name in values]
    named = {system.labels[letter][int(k)] for place in places for letter, k in zip(place.letters, place.positions)}
    return {**{name: value for name, value in others.items() if name not in named}, **values}


def first_written(system: System) -> System:
    """The system before any reduction of it, and before loops were closed around it; itself where there was none."""
    while True:
        system = opened(system)
        reduction = reduction_behind(system)
        if reduction is None:
            return system
        system = reduction.original
