"""What a format says of noise that it does not draw."""

from __future__ import annotations

from daedalus.model.names import listed
from daedalus.model.system.system import System

# Names in one sentence.
MOST_LISTED = 4


def noise_notes(system: System) -> list[str]:
    """A sentence on the noise of a system, none without noise.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("drift")
    >>> x = m.state("x", start=0.0)
    >>> m.equation(m.der(x), m.noise("push", 0.1) - x)
    >>> noise_notes(m.freeze())
    ['noise is not drawn: push is an input, zero unless you set it']
    """
    drawn = [variable.name for variable in system.variables if variable.noise is not None]
    if not drawn:
        return []
    verb = "is an input" if len(drawn) == 1 else "are inputs"
    return [f"noise is not drawn: {listed(drawn, MOST_LISTED)} {verb}, zero unless you set it"]
