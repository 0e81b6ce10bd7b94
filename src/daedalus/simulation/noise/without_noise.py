"""Questions about motions, their derivatives, and how they repeat or obey conditions: noise has no part in them."""

from __future__ import annotations

from collections.abc import Mapping

from daedalus.errors import InputError
from daedalus.model.names import listed
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping


def refuse_noise(system: System, verb: str, inputs: Mapping[str, object] | None) -> None:
    """Refuse noise whose values are not given, by name.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("pushed"); x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x + m.noise("w"))
    >>> refuse_noise(m.freeze(), "dd.periodic", {"w": 0.0})
    >>> refuse_noise(m.freeze(), "dd.periodic", None)
    Traceback (most recent call last):
    ...
    daedalus.errors.InputError: dd.periodic follows motions without noise.
      the model has the noise w
      Because every path of a noise is another one.
      Try: inputs={"w": 0.0} for motion without noise, or dd.sweep(..., seeds=1000) for statistics of paths
    """
    given = {name.split("[")[0] for name in check_mapping(inputs, "inputs")}
    noises = [variable.name for variable in system.noises if variable.name not in given]
    if noises:
        zeros = ", ".join(f'"{name}": 0.0' for name in noises)
        raise InputError(
            f"{verb} follows motions without noise.",
            f"the model has the noise {listed(noises)}",
            because="every path of a noise is another one.",
            remedy=f"inputs={{{zeros}}} for motion without noise, or dd.sweep(..., seeds=1000) for statistics of paths",
        )
