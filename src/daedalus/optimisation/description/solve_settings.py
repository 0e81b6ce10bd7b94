"""How a problem is solved: the arguments of solve(), checked, and the checks on what can be planned with at all."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.plain_numbers import is_quantity, plain_number, without_unit
from daedalus.model.switching.delays import refuse_delays
from daedalus.model.system.system import System
from daedalus.optimisation.description.unknown import Unknown

METHODS = ("collocation", "shooting")
SOLVERS = ("auto", "ipopt", "fatrop")
HESSIANS = ("exact", "gauss_newton")


@dataclass(frozen=True)
class SolveSettings:
    """The arguments of solve()."""

    method: str = "collocation"
    solver: str = "auto"
    degree: int = 3
    points: str = "radau"
    hessian: str = "exact"
    tolerance: float | None = None
    time_limit: float | None = None
    progress: Any = None
    most_iterations: int = 3000
    mesh_tolerance: float | None = None
    step_method: Any = "rk4"
    steps: int = 2
    options: dict[str, Any] = field(default_factory=dict)
    starts: int | None = 1  # None: other starts where they cost little
    seed: int = 0
    preview: bool = False  # given inputs are numbers of the program, so that they may change from search to search

    def __post_init__(self) -> None:
        for name, words in (("method", METHODS), ("solver", SOLVERS), ("hessian", HESSIANS)):
            if getattr(self, name) not in words:
                raise InputError(
                    f"{name}={getattr(self, name)!r} is not known.", remedy=" or ".join(f'{name}="{w}"' for w in words)
                )
        for name, least in (("starts", 1), ("seed", 0)):
            value = getattr(self, name)
            if name == "starts" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise InputError(
                    f"{name} must be a whole number from {least} on.", f"got {value!r}", remedy=f"{name}={least}"
                )
        for name in ("degree", "steps"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise InputError(f"{name} must be a whole number of at least 1.", f"got {value!r}", remedy=f"{name}=3")
        for name in ("tolerance", "time_limit", "mesh_tolerance"):
            value = getattr(self, name)
            if name == "time_limit" and is_quantity(value):
                value = plain_number(value, "time_limit", "s")
                object.__setattr__(self, name, value)
            number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            if value is not None and not (number and 0 < value < math.inf):
                raise InputError(f"{name} must be a positive number.", f"got {value!r}", remedy=f"{name}=None")

    @property
    def structure(self) -> tuple[object, ...]:
        """What the program depends on; the rest only changes how it is searched."""
        return self.method, self.degree, self.points, self.hessian, self.step_method, self.steps, self.by_stages

    @property
    def by_stages(self) -> bool:
        """Whether fatrop is tried: where it is asked for, and for shooting, whose stages are small."""
        return self.solver == "fatrop" or (self.solver == "auto" and self.method == "shooting")

    @property
    def accuracy(self) -> float:
        """The tolerance of the search."""
        return 1e-8 if self.tolerance is None else float(self.tolerance)


def read_duration(value: object) -> float | Unknown:
    """A positive duration, or one to be found."""
    value = without_unit(value, "s", "The duration")
    if isinstance(value, Unknown):
        if value.upper <= 0:
            raise InputError("The duration must be positive.", f"its upper bound is {value.upper:g}")
        lower = max(value.lower, 1e-6 * max(abs(value.guess), 1e-3))
        return Unknown(max(value.guess, lower), lower, value.upper)
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:  # type: ignore[operator]
        raise InputError(
            "The duration must be a positive number.",
            f"got {value!r}",
            remedy="duration=2.0, or dd.unknown(2.0, 0.1, 10.0)",
        )
    return float(value)  # type: ignore[arg-type]


# Where nobody says how many intervals there are.
INTERVALS = 50


def check_intervals(value: object) -> int:
    """A whole number of intervals; that of most problems where none is given."""
    if value is None:
        return INTERVALS
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise InputError("intervals must be a whole number of at least 1.", f"got {value!r}", remedy="intervals=50")
    return int(value)


def check_model_for_plans(system: System) -> None:
    """Refuse what jumps: events and discrete variables, by name."""
    refuse_delays(system, "dd.OptimalControl")
    discrete = [v.name for v in system.variables if v.kind == "discrete"]
    if discrete:
        raise InputError(
            f"{', '.join(discrete[:6])} {'is' if len(discrete) == 1 else 'are'} discrete.",
            because="plans are computed with derivatives, and a discrete variable has none.",
            remedy="a parameter in its place, or one phase for each of its values: dd.phases(...)",
        )
    if system.events:
        raise InputError(
            f"The model has events: {', '.join(event.name for event in system.events)}.",
            because="plans are computed with derivatives along smooth motions.",
            remedy="a model without events, and one phase for each piece of the motion: dd.phases(...)",
        )
