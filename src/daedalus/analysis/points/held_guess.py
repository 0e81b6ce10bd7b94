"""A guess for a point of rest in which some variables have wanted values: `.nodeset` of SPICE.

The others are solved for with those held, as well as the equations allow; nothing holds them afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from daedalus.analysis.points.complete_point import Entry, fill_states_and_inputs, scatter, solve_for
from daedalus.analysis.points.operating_point import read_point
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System


def guess_with_held(model: Model | System, held: Mapping[str, float]) -> dict[str, float]:
    """States and algebraic variables near rest by label, with the held ones at their values.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("two wells")
    >>> x = m.state("x", start=0.1); z = m.algebraic("z")
    >>> m.equation(m.der(x), x - x**3); m.equation(z, 2 * x)
    >>> guess_with_held(m, {"x": -1.2})
    {'x': -1.2, 'z': -2.4}
    """
    system = as_system(model)
    vectors = read_point(system, dict(held), None, None, "guess")
    given = {(letter, k) for name in held for letter, k in _entries(system, name)}
    fill_states_and_inputs(system, vectors)
    vectors["z"] = np.nan_to_num(np.where(np.isnan(vectors["z"]), system.start["z"], vectors["z"]))
    vectors["xdot"] = np.zeros(system.sizes["x"])
    unknowns: list[Entry] = [
        (letter, k) for letter in ("x", "z") for k in range(system.sizes[letter]) if (letter, k) not in given
    ]
    unknowns += [("xdot", k) for letter, k in sorted(given) if letter == "x"]
    scatter(vectors, unknowns, solve_for(system, vectors, unknowns).values)
    return {
        label: float(value) for letter in ("x", "z") for label, value in zip(system.labels[letter], vectors[letter])
    }


def _entries(system: System, name: str) -> list[Entry]:
    place = system.place(name)
    return list(zip(place.letters, place.positions.tolist()))
