"""The matrices and names of a linear system as users give them, made complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.analysis.linear.axis_names import check_names, check_shared_names
from daedalus.analysis.linear.real_matrix import matrix

GivenNames = str | Sequence[str] | None


def complete(
    A: np.ndarray, B: object, C: object, D: object, states: GivenNames, inputs: GivenNames, outputs: GivenNames
) -> dict[str, Any]:
    """A, B, C, D and the names of states, inputs and outputs, with what was left out filled in.

    No B means no inputs, no C that all states are outputs under their own names, no D zero.

    Example
    -------
    >>> import numpy as np
    >>> complete(np.eye(1), None, None, None, "level", None, None)["outputs"]
    ('level',)
    """
    rows, columns = A.shape
    B = matrix(np.zeros((rows, 0)) if B is None else B, "B", rows)
    state_names = check_names(states, columns, "state")
    if C is None:
        C, outputs = np.eye(columns), state_names if outputs is None and D is None else outputs
    C = matrix(C, "C", None, columns)
    D = matrix(np.zeros((C.shape[0], B.shape[1])) if D is None else D, "D", C.shape[0], B.shape[1])
    input_names = check_names(inputs, B.shape[1], "input")
    output_names = check_names(outputs, C.shape[0], "output")
    check_shared_names(state_names, input_names, output_names, C, D)
    return {"A": A, "B": B, "C": C, "D": D, "states": state_names, "inputs": input_names, "outputs": output_names}
