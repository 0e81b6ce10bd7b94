"""Passivity: whether a model stores no more energy than its ports feed it, with the storage function.

A model with inputs u and outputs y is passive with the storage S ≥ 0 if dS/dt ≤ uᵀ y along every motion. For mechanics
S = T + V; for x' = A x + B u, y = C x + D u it is ½ xᵀ P x with P ≥ 0 and (Kalman, Yakubovich, Popov)

    [ AᵀP + P A    P B − Cᵀ  ]
    [ BᵀP − C     −(D + Dᵀ)  ]  ≤ 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.manifold import Manifold
from daedalus.analysis.linear.linearise import linearise
from daedalus.analysis.linear.lti import LTI
from daedalus.errors import DaedalusError, InputError
from daedalus.model.expressions import column, concatenate, elements, symbol_key
from daedalus.model.mechanics.mechanical_ledger import mechanical_energy
from daedalus.model.model import Model
from daedalus.model.names import counted, listed, split_derivative, split_index
from daedalus.model.printing import expression_text
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import explicit_form
from daedalus.reduction.forms.linearity import is_linear
from daedalus.reduction.reduce import reduce
from daedalus.reduction.rewriting import read_model

POINTS = 60
# What is smaller than this share of the powers at a point is rounding.
NO_POWER = 1e-9
# The least singular value of the constraints beside the largest at states that are judged.
DEAD_CENTRE = 1e-2
# Half the width of the boxes that states are drawn from where the energy is asked for a lower bound.
FAR = (10.0, 1000.0)
# D + Dᵀ of a system without feedthrough is raised to this share of the gain while P is looked for.
REGULAR = 1e-8


@dataclass(frozen=True, eq=False)
class Passivity:
    """The result of `dd.passivity`: the verdict, the storage function, and the reason in a sentence.

    passive: True, False, or None where neither storage function decides. storage: S as an expression in the model's
    symbols, or the matrix P of ½ xᵀ P x. lossless: whether nothing is lost. sentence: the answer with its reason.
    bounded: whether S has a lower bound as far as states up to a thousand tell; None where that was not asked.
    worst: the largest dS/dt − uᵀ y that was seen, relative to the powers there; for linear models the largest
    eigenvalue of the matrix of Kalman, Yakubovich and Popov.
    """

    passive: bool | None
    storage: Any
    lossless: bool
    sentence: str
    worst: float
    bounded: bool | None = None

    def __str__(self) -> str:
        return self.sentence


def passivity(
    model: Model | System | LTI, inputs: str | Iterable[str] | None = None, outputs: str | Iterable[str] | None = None
) -> Passivity:
    """Whether a model is passive from some inputs to some outputs, by its energy or, if it is linear, by its matrices.

    Parameters
    ----------
    model: with energies (kinetic and potential) or bodies, or a linear model or `dd.LTI`.
    inputs, outputs: names in pairs whose products are powers, such as a force and the velocity of its point, "q_dot";
        by default all inputs, with the velocities that they work on where they are forces on coordinates, else with
        all outputs.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("mass on a spring")
    >>> x = m.coordinate("x", start=0.0, rate=0.0); k = m.parameter("k", 4.0); force = m.input("force")
    >>> m.kinetic_energy(0.5 * m.rate(x) ** 2); m.potential_energy(0.5 * k * x**2); m.dissipation(0.1 * m.rate(x) ** 2)
    >>> m.generalised_force(x, force)
    >>> p = dd.passivity(m, "force", "x_dot")
    >>> p.passive, p.lossless
    (True, False)
    >>> dd.passivity(m, "force", "x").passive
    False
    """
    if isinstance(model, LTI):
        return _of_matrices(model.select(inputs=_list(inputs), outputs=_list(outputs)))
    book = read_model(model, "passivity")
    system = book.freeze()
    names_in = _list(inputs) or [v.name for v in system.of_kind("input")]
    names_out = _list(outputs) or list(system.outputs)
    u = concatenate(column(book._lookup(name)) for name in names_in)
    flat = book._flat()
    worked_on = _velocities(flat, u) if outputs is None else None
    if worked_on is not None:
        y, names_out = worked_on, [_velocity_text(flat, entry) for entry in elements(worked_on)]
    else:
        y = concatenate(_output(book, system, name) for name in names_out)
    if not u.numel() or u.numel() != y.numel():
        known = [*system.outputs, *system.labels["x"]]
        counts = (u.numel(), "input", names_in), (y.numel(), "output", names_out)
        raise InputError(
            "Inputs and outputs do not come in pairs.",
            ", ".join(f"{counted(n, word)}{f' ({listed(own, 6)})' if own else ''}" for n, word, own in counts),
            because="the product of each input with its output is a power.",
            remedy=f"dd.passivity(m, {names_in[0]!r}, {known[-1]!r})" if names_in and known else 'm.input("force")',
        )
    energy = mechanical_energy(flat)[0] if flat._mechanics.positions else ca.SX(0)
    if not energy.is_constant():
        found = _of_energy(book, energy, u, y, names_in, names_out)
        if found.passive:
            return found
        if worked_on is not None or not _linear(system):
            return found
    if _linear(system):
        return _of_matrices(_state_space(book, names_in, names_out), names_out)
    raise InputError(
        "The model has no energy that passivity could be judged by.",
        f"{system.name!r} is nonlinear and has no kinetic or potential energy and no bodies",
        because="a storage function is needed, and only linear models have one that can be computed.",
        remedy="m.kinetic_energy(...) and m.potential_energy(...), or dd.passivity(dd.linearise(m).reduced())",
    )


def _velocities(flat: Model, u: ca.SX) -> ca.SX | None:
    """What inputs work on: ∂(Σ Q q')/∂u of forces Q on coordinates; None where an input is no such force."""
    applied = {n: e for n, e in flat._mechanics.applied.items() if n in flat._mechanics.coordinates}
    if not applied or not u.numel():
        return None
    power = sum((ca.dot(column(e), column(flat._derivative_symbol(n, 1))) for n, e in applied.items()), ca.SX(0))
    found = ca.densify(ca.gradient(power, u))
    if ca.depends_on(found, u) or any(entry.is_zero() for entry in elements(found)):
        return None
    return found


def _velocity_text(flat: Model, entry: ca.SX) -> str:
    text = expression_text(entry, flat._labels())
    return f"({text})" if " " in text else text


def _list(names: str | Iterable[str] | None) -> list[str] | None:
    return None if names is None else [names] if isinstance(names, str) else list(names)


def _output(book: Model, system: System, name: str) -> ca.SX:
    return column(system.outputs[name] if name in system.outputs else book._lookup(name))


def _linear(system: System) -> bool:
    unknowns = concatenate(system.symbol(letter) for letter in ("xdot", "x", "z", "u"))
    residual = system.residual
    return bool(is_linear(residual, unknowns, ca.jacobian(residual, unknowns)))


# -- by energy -------------------------------------------------------------------------------------------------


def _of_energy(book: Model, energy: ca.SX, u: ca.SX, y: ca.SX, names_in: list[str], names_out: list[str]) -> Passivity:
    """dS/dt − uᵀ y at random states and inputs, on the constraints where there are some."""
    whole: Model = book
    try:
        form = explicit_form(book.freeze())
    except DaedalusError:
        whole = reduce(book)
        form = explicit_form(whole.freeze())
    system = whole.freeze()
    x, xdot = elements(system.symbol("x")), elements(form.xdot)
    rate = ca.jtimes(energy, concatenate(x), concatenate(xdot))
    power = form.applied(system, ca.dot(u, y))
    gains = ca.gradient(energy, system.symbol("x")) * form.xdot
    arguments = [system.symbol(letter) for letter in ("t", "x", "u", "p")]
    nearest = _constraints_of(system)
    function = ca.Function("power", arguments, [rate - power, ca.sum1(ca.fabs(gains)) + ca.fabs(power), rate, power])
    draw, p = np.random.default_rng(1788), np.nan_to_num(system.start["p"], nan=1.0)
    worst, least = -np.inf, np.inf
    for _ in range(POINTS):
        state = _on_constraints(nearest, draw.uniform(-1.5, 1.5, system.sizes["x"]), p)
        if state is None:
            continue
        excess, scale, *_ = (
            float(part) for part in function(0.0, state, draw.uniform(-1.5, 1.5, system.sizes["u"]), p)
        )
        if np.isfinite(excess):
            worst, least = max(worst, excess / max(scale, 1e-12)), min(least, excess / max(scale, 1e-12))
    if not np.isfinite(worst):
        return Passivity(None, energy, False, "No state was found at which the energy could be judged.", np.nan)
    pairs = " and ".join(f"{a} · {b}" for a, b in zip(names_in, names_out))
    if worst > NO_POWER:
        text = (
            f"Not passive by its energy from {', '.join(names_in)} to {', '.join(names_out)}: T + V can grow faster "
            f"than {pairs} feeds it (by {worst:.2g} of the powers at one of {POINTS} random states)."
        )
        return Passivity(False, energy, False, text, worst)
    lossless = least > -NO_POWER
    ends = "nothing is lost" if lossless else "the rest is lost to dissipation"
    text = (
        f"Passive from {', '.join(names_in)} to {', '.join(names_out)} with the storage function T + V: its rate is at "
        f"most {pairs} at {POINTS} random states; {ends}. "
    )
    bounded = _is_bounded(system, energy, nearest, p)
    text += (
        "T + V is bounded from below." if bounded
        else "T + V has no lower bound, so that energy without end can be taken out of it: what holds is the balance."
    )  # fmt: skip
    return Passivity(True, energy, lossless, text, worst, bounded)


def _is_bounded(system: System, energy: ca.SX, nearest: ca.Function | None, p: np.ndarray) -> bool:
    """Whether the energy at rest stops falling while states are drawn from ever larger boxes."""
    names = [system.symbol("x")[k] for k, label in enumerate(system.labels["x"]) if _is_rate(system, label)]
    at_rest = ca.substitute(energy, concatenate(names), ca.SX.zeros(len(names))) if names else energy
    function = ca.Function("rest", [system.symbol(letter) for letter in ("t", "x", "u", "p")], [at_rest])
    draw, least = np.random.default_rng(38), []
    for radius in FAR:
        states = [_on_constraints(nearest, draw.uniform(-radius, radius, system.sizes["x"]), p) for _ in range(20)]
        values = [float(function(0.0, x, np.zeros(system.sizes["u"]), p)) for x in states if x is not None]
        least.append(min([v for v in values if np.isfinite(v)], default=0.0))
    return least[-1] > least[0] - FAR[0] * max(1.0, abs(least[0]))


def _is_rate(system: System, label: str) -> bool:
    """Whether a state is the rate of another, or the velocity of a body."""
    stem = split_index(label)[0]
    return split_derivative(stem)[1] > 0 or stem.rpartition(".")[2] in ("velocity", "angular_velocity")


def _constraints_of(system: System) -> ca.Function | None:
    """What solutions keep at zero and its slopes, as a function of t, x and p; None where nothing is kept."""
    if not system.invariants:
        return None
    kept = concatenate([*system.invariants.values()])
    arguments = [system.symbol(letter) for letter in ("t", "x", "p")]
    symbols = {symbol_key(s) for argument in arguments for s in elements(argument)}
    if any(symbol_key(s) not in symbols for s in ca.symvar(kept)):
        return None
    return ca.Function("kept", arguments, [kept, ca.jacobian(kept, system.symbol("x"))])


def _on_constraints(nearest: ca.Function | None, x: np.ndarray, p: np.ndarray) -> np.ndarray | None:
    """A state near by that obeys what solutions keep at zero; None where none is found."""
    if nearest is None:
        return x

    def kept(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, slopes = (part.full() for part in nearest(0.0, state, p))
        return value.ravel(), slopes

    corrected = Manifold(kept, np.ones(len(x))).near(x)
    if not corrected.solved:
        return None
    # Beside a dead centre what is left of the constraints is enlarged into a power.
    sizes = np.linalg.svd(kept(corrected.values)[1], compute_uv=False)
    return corrected.values if sizes.min(initial=np.inf) > DEAD_CENTRE * sizes.max(initial=0.0) else None


# -- by matrices -----------------------------------------------------------------------------------------------


def _state_space(book: Model, names_in: list[str], names_out: list[str]) -> LTI:
    """A, B, C, D between the chosen inputs and outputs."""
    twin = book.copy()
    chosen = []
    for k, name in enumerate(names_out):
        own = f"passivity_{k}"
        twin.output(own, twin._lookup(name) if name not in twin._outputs else twin._outputs[name])
        chosen.append(own)
    lin = linearise(twin)
    return lin.to_state_space().select(inputs=names_in, outputs=[o for o in lin.outputs if o.split("[")[0] in chosen])


def _of_matrices(system: LTI, outputs: list[str] | None = None) -> Passivity:
    """P by the Riccati equation of a slightly raised D, judged by the matrix of Kalman, Yakubovich and Popov."""
    from scipy.linalg import solve_continuous_are

    A, B, C, D = (np.asarray(getattr(system, letter), dtype=float) for letter in "ABCD")
    names = f"from {', '.join(system.inputs)} to {', '.join(outputs or system.outputs)}"
    gain = max(1.0, float(np.abs(C).max(initial=0.0)) * float(np.abs(B).max(initial=0.0)))
    spectrum = _least_real_part(A, B, C, D)
    if spectrum < -1e-9 * gain:
        text = f"Not passive {names}: the Hermitian part of the transfer function falls to {spectrum:.3g} on the axis."
        return Passivity(False, None, False, text, -spectrum)
    if np.linalg.eigvals(A).real.max(initial=-1.0) > 1e-9 * max(1.0, float(np.abs(A).max(initial=0.0))):
        return Passivity(False, None, False, f"Not passive {names}: it is unstable.", np.inf)
    best: tuple[float, np.ndarray] | None = None
    for share in (REGULAR, 1e-6, 1e-4):
        raised = D + D.T + 2 * share * gain * np.eye(len(D))
        try:
            P = solve_continuous_are(A, B, np.zeros_like(A), -raised, s=-C.T)
        except (np.linalg.LinAlgError, ValueError):
            continue
        P = (P + P.T) / 2
        matrix = np.block([[A.T @ P + P @ A, P @ B - C.T], [B.T @ P - C, -(D + D.T)]])
        worst = float(np.linalg.eigvalsh(matrix).max())
        if best is None or worst < best[0]:
            best = (worst, P)
    if best is None:
        text = f"Positive real {names} at all sampled frequencies; no storage matrix was found."
        return Passivity(None, None, False, text, np.nan)
    worst, P = best
    size = max(1.0, float(np.abs(P).max()))
    passive = worst <= 1e-3 * gain * size and float(np.linalg.eigvalsh(P).min()) >= -1e-6 * size
    text = (
        f"Passive {names} with the storage ½ x'P x: the matrix of Kalman, Yakubovich and Popov has no eigenvalue above "
    )
    text += f"{worst:.1g}."
    if not passive:
        text = f"Undecided {names}: the best storage matrix leaves an eigenvalue of {worst:.2g}."
    return Passivity(True if passive else None, P, False, text, worst)


def _least_real_part(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> float:
    """The least eigenvalue of G(iω) + G(iω)* over many frequencies."""
    rates = np.abs(np.linalg.eigvals(A)) if len(A) else np.ones(1)
    scale = max(float(rates.max(initial=0.0)), 1e-3)
    least = float(np.linalg.eigvalsh(D + D.T).min()) if D.size else 0.0
    for w in np.concatenate([np.linspace(0.0, 3 * scale, 400), scale * np.logspace(-4, 4, 400)]):
        matrix = 1j * w * np.eye(len(A)) - A
        if len(A) and np.linalg.cond(matrix) > 1e10:
            continue
        G = C @ np.linalg.solve(matrix, B) + D if len(A) else D
        least = min(least, float(np.linalg.eigvalsh(G + G.conj().T).min()))
    return least / 2
