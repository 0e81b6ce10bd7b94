"""Values of discrete variables at a point: as told, as the point has them, or those of the start."""

from __future__ import annotations

from collections.abc import Mapping

from daedalus.analysis.points.operating_point import OperatingPoint
from daedalus.errors import InputError
from daedalus.model.names import did_you_mean, split_index
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping


def read_modes(
    system: System, at: object, modes: Mapping[str, object] | None
) -> tuple[dict[str, object], tuple[str, ...]]:
    """Values by name of discrete variables that were told, and a sentence for each that has its start value."""
    told = dict(check_mapping(modes, "modes"))
    known = {v.name for v in system.of_kind("discrete")}
    for name in told:
        if split_index(str(name))[0] not in known:
            kinds = f"it has {', '.join(sorted(known)[:8])}" if known else "it has none"
            raise InputError(
                f"{name} is not a discrete variable of {system.name!r}.",
                kinds,
                because="a mode is what discrete variables are between instants.",
                remedy=did_you_mean(str(name), sorted(known)) or "parameters={...} for what never changes",
            )
    if isinstance(at, OperatingPoint) or (at is not None and not isinstance(at, Mapping)):
        return told, ()
    given = {split_index(str(name))[0] for name in (*told, *(at if isinstance(at, Mapping) else ()))}
    open_ = [v.name for v in system.of_kind("discrete") if v.name not in given]
    return told, tuple(f"{name} = {_text(system, name)}, its start value" for name in open_)


def _text(system: System, name: str) -> str:
    values = system.start["p"][system.place(name).positions]
    return ", ".join(f"{value:g}" for value in values)
