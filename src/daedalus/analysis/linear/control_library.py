"""Linear systems to and from python-control, which is imported only when one of these is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daedalus.errors import InputError


def control_space(matrices: Sequence[np.ndarray], names: Mapping[str, Sequence[str]], step: float = 0) -> Any:
    """The `control.StateSpace` of A, B, C, D, with the names of states, inputs and outputs; step 0 is continuous."""
    return _library().StateSpace(*map(np.array, matrices), step, **{axis: list(given) for axis, given in names.items()})


def matrices_of(system: Any) -> dict[str, Any]:
    """The arguments of `dd.LTI` for a `control.StateSpace`; transfer functions are converted by python-control."""
    space = system if all(hasattr(system, name) for name in "ABCD") else _library().ss(system)
    step = getattr(space, "dt", 0)
    if step:
        raise InputError(
            "The system is one of discrete time.",
            f"its time step is {step}",
            because="dd.LTI is x' = A x + B u in continuous time.",
            remedy="the continuous-time system it was made from",
        )
    return {
        "A": space.A,
        "B": space.B,
        "C": space.C,
        "D": space.D,
        "states": list(space.state_labels),
        "inputs": list(space.input_labels),
        "outputs": list(space.output_labels),
    }


def _library() -> Any:
    try:
        import control
    except ImportError:
        raise InputError(
            "python-control is not installed.",
            because="the conversion makes or reads its StateSpace objects.",
            remedy="pip install control, or use the matrices .A .B .C .D and the names directly",
        ) from None
    return control
