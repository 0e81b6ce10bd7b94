"""What lies behind an event, with its sensitivities, as a function that the core asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.differentiation.case import Case

Behind = Callable[[Case, int, float, np.ndarray], np.ndarray]  # (case, event, t, row) -> row


def restart_function(case: Case, inputs: int, width: int, behind: Behind) -> Any:
    """(t, row, u, p, event, held) -> the row behind the event; inputs: with the weights of the grid behind them.

    Discrete variables are states here, so that none are held.
    """
    function = _core.Function("restart", [1, width, inputs, len(case.p), 1, 0], [width])

    def restart(
        t: np.ndarray, row: np.ndarray, u: np.ndarray, p: np.ndarray, event: np.ndarray, held: np.ndarray
    ) -> np.ndarray:
        return behind(case, int(event[0]), float(t[0]), row)

    function.set_python(restart)
    return function
