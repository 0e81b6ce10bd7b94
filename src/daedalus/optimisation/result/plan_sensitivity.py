"""How a plan changes with a parameter: the derivative of the conditions of optimality, solved for the plan.

With the bounds and conditions that press held, H dw + Aᵀ dλ = −∂(∇L)/∂p and A dw = −∂g/∂p; the cost changes by ∂L/∂p.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np

from daedalus.errors import InputError, SolverError
from daedalus.model.names import split_index
from daedalus.optimisation.description.named_elements import elements_of
from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.program.program import Program
from daedalus.optimisation.program.program_outcome import ProgramOutcome
from daedalus.optimisation.transcription.collocated import Transcription

# A bound presses when its multiplier is larger than the distance to it by this factor, in their own sizes.
PRESSING = 1e-6


@dataclass(frozen=True, eq=False)
class PlanSensitivity:
    """Derivatives by one parameter: of the objective, the duration, and of states, unknowns and inputs by name.

    `s["x"]` has the shape of `plan["x"]`, at the nodes.
    """

    name: str
    objective: float
    duration: float
    _rows: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self._rows:
            return self._rows[name]
        parts = [rows for label, rows in self._rows.items() if split_index(label)[0] == name]
        if not parts:
            raise InputError(f"The plan has no derivative of {name}.", f"available: {', '.join(list(self._rows)[:8])}")
        return np.stack(parts, axis=1)


def plan_sensitivity(
    transcription: Transcription, outcome: ProgramOutcome, name: str, again: Callable[..., Transcription]
) -> PlanSensitivity:
    """The derivatives of a plan; `again` transcribes a changed problem on the same mesh."""
    description = transcription.description
    own = elements_of(description.system, name, "A parameter")
    if len(own) != 1 or own[0].letter != "p":
        raise InputError(
            f"{name} is not a parameter of one element.", remedy='the name of a parameter, or "L[0]" of one'
        )
    k = own[0].position
    if k in description.free:
        raise InputError(
            f"{name} is optimised together with the plan.", because="its value is a result of the optimisation."
        )
    wider = copy(description)
    value = float(description.parameters[k])
    wider.free = {**description.free, k: Unknown(value, value, value)}
    wider.single = frozenset((k,))
    twin = again(wider)
    place = int(twin.layout.parameters[0, k])
    w = np.insert(outcome.w, place, value)
    dw, objective = _derivative(twin.program, w, outcome, place)
    layout, stage = transcription.layout, transcription.stage
    rows = {stage.states.labels[i]: dw[layout.nodes[:, i]] for i in stage.carried}
    inputs = np.concatenate([layout.inputs, layout.inputs[-1:]])
    rows |= {label: dw[inputs[:, i]] for i, label in enumerate(stage.inputs.labels)}
    length = layout.length[0]
    return PlanSensitivity(name, objective, float(dw[length]) if length >= 0 else 0.0, rows)


def _derivative(program: Program, w: np.ndarray, outcome: ProgramOutcome, place: int) -> tuple[np.ndarray, float]:
    """dw/dp without the parameter itself, and the derivative of the cost; p is the variable at `place`."""
    import scipy.sparse as sparse
    import scipy.sparse.linalg as linear

    n, m = program.shape
    gradient, jacobian = program.first(w)
    lower = program.second(w, outcome.multipliers)
    A = sparse.csr_matrix((jacobian, (program.jacobian_row, program.jacobian_column)), shape=(m, n))
    L = sparse.csr_matrix((lower, (program.hessian_row, program.hessian_column)), shape=(n, n))
    H = L + L.T - sparse.diags(L.diagonal())
    others = np.arange(n) != place
    cost = float(gradient[place] + outcome.multipliers @ A[:, [place]].toarray().ravel())
    value = program.values(w)[1]
    room = np.minimum(value - program.row_lower, program.row_upper - value)
    held_rows = (program.row_lower == program.row_upper) | (np.abs(outcome.multipliers) > np.maximum(room, PRESSING))
    own = w[others]
    low, high = program.lower[others], program.upper[others]
    space = np.minimum(own - low, high - own) / program.scale[others]
    pressing = np.abs(outcome.bound_multipliers) * program.scale[others]
    free = (low < high) & ~(pressing > np.maximum(space, PRESSING))
    inside = np.flatnonzero(others)[free]
    Hff, Aff = H[inside][:, inside], A[np.flatnonzero(held_rows)][:, inside]
    tiny = 1e-12 * sparse.identity(Aff.shape[0])
    kkt = sparse.bmat([[Hff, Aff.T], [Aff, -tiny]], format="csc")
    right = -np.concatenate(
        [H[inside][:, [place]].toarray().ravel(), A[np.flatnonzero(held_rows)][:, [place]].toarray().ravel()]
    )
    try:
        found = linear.splu(kkt).solve(right)
    except RuntimeError as error:
        raise SolverError(
            "The conditions of optimality are singular.", str(error),
            because="the plan is not unique, or conditions repeat each other.", remedy="a cost on every input",
        ) from None  # fmt: skip
    dw = np.zeros(n - 1)
    dw[np.flatnonzero(free)] = found[: len(inside)]
    return dw, cost
