"""Daedalus: from the page to the machine. Write a dynamic system, understand it, simulate it, look at it."""

from __future__ import annotations

import casadi as _casadi

# NumPy functions on CasADi symbols: no warning, and shapes stay those of CasADi.
_casadi.GlobalOptions.setNumpyMode(-1)

from daedalus.errors import (  # noqa: E402
    DaedalusError,
    InconsistentStartError,
    InputError,
    ModelError,
    SingularModelError,
    SolverError,
)
from daedalus.model import units  # noqa: E402
from daedalus.model.model import Model  # noqa: E402
from daedalus.model.signals import signal  # noqa: E402
from daedalus.model.system import System  # noqa: E402
from daedalus.simulation.files import load  # noqa: E402
from daedalus.simulation.methods import methods  # noqa: E402
from daedalus.simulation.named_tableaux import tableau  # noqa: E402
from daedalus.simulation.simulate import simulate  # noqa: E402
from daedalus.simulation.sweep import sweep  # noqa: E402
from daedalus.simulation.tableau import Tableau  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "DaedalusError",
    "InconsistentStartError",
    "InputError",
    "Model",
    "ModelError",
    "SingularModelError",
    "SolverError",
    "System",
    "Tableau",
    "load",
    "methods",
    "signal",
    "simulate",
    "sweep",
    "tableau",
    "units",
]
