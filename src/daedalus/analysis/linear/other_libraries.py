"""Linear systems to and from python-control and scipy.signal, which are imported only when one of these is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daedalus.errors import InputError


def control_space(matrices: Sequence[np.ndarray], names: Mapping[str, Sequence[str]], step: float = 0) -> Any:
    """The `control.StateSpace` of A, B, C, D, with the names of states, inputs and outputs; step 0 is continuous."""
    return _library().StateSpace(*map(np.array, matrices), step, **{axis: list(given) for axis, given in names.items()})


def scipy_space(matrices: Sequence[np.ndarray], step: float | None = None) -> Any:
    """The `scipy.signal.StateSpace` of A, B, C, D; without a step it is one of continuous time."""
    from scipy.signal import StateSpace

    given = list(map(np.array, matrices))
    if 0 in given[1].shape or 0 in given[2].shape:
        raise InputError(
            "scipy.signal has no systems without inputs or outputs.",
            f"this one has {given[1].shape[1]} inputs and {given[2].shape[0]} outputs",
            because="its StateSpace takes an empty matrix for one that was left out.",
            remedy="the matrices .A .B .C .D directly",
        )
    return StateSpace(*given) if step is None else StateSpace(*given, dt=step)


def is_foreign_system(value: object) -> bool:
    """Whether a value is a linear system of another library: python-control's or scipy.signal's, in any form."""
    if all(hasattr(value, name) for name in "ABCD"):
        return True
    return type(value).__module__.partition(".")[0] == "control" or hasattr(value, "to_ss")


def matrices_of(system: Any) -> dict[str, Any]:
    """The arguments of `dd.LTI` for a linear system of another library; transfer functions are converted there."""
    space = system.to_state_space() if hasattr(system, "to_state_space") else system
    if not all(hasattr(system, name) for name in "ABCD"):
        space = system.to_ss() if hasattr(system, "to_ss") else _library().ss(system)
    step = getattr(space, "dt", getattr(space, "step", 0))
    if step and not callable(step):
        raise InputError(
            "The system is in discrete time.",
            f"its time step is {step}",
            because="dd.LTI is x' = A x + B u in continuous time.",
            remedy="the continuous-time system it was made from",
        )
    found: dict[str, Any] = {name: getattr(space, name) for name in "ABCD"}
    for ours, theirs in (("states", "state_labels"), ("inputs", "input_labels"), ("outputs", "output_labels")):
        labels = getattr(space, theirs if hasattr(space, theirs) else ours, None)
        if isinstance(labels, (list, tuple)):
            found[ours] = list(labels)
    return found


def read_foreign(system: Any, more: Sequence[object], names: Mapping[str, object]) -> dict[str, Any]:
    """The arguments of `dd.LTI` for a system of another library, with names given beside it in place of its own."""
    if any(matrix is not None for matrix in more):
        raise InputError(
            "A whole linear system and matrices were given together.",
            f"the first argument is a {type(system).__name__}, which has A, B, C and D",
            remedy="dd.LTI(system), or dd.LTI(system.A, B, C, D)",
        )
    return matrices_of(system) | {axis: given for axis, given in names.items() if given is not None}


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
