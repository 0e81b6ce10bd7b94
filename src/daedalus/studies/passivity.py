"""Passivity: whether a model stores no more energy than its ports feed it, with the storage function.

A model with inputs u and outputs y is passive with the storage S if S has a lower bound and dS/dt ≤ uᵀ y along every
motion; without the bound it is cyclo-passive: what a closed path takes in is not negative, yet energy without end may
be taken out (J. C. Willems, "Dissipative dynamical systems", Arch. Rational Mech. Anal. 45, 1972; D. Hill and
P. Moylan, "Dissipative dynamical systems: basic input-output and state properties", J. Franklin Inst. 309, 1980). For
mechanics S = T + V, for parts the sum of what they store; of linear models the matrices decide (`positive_real`).

Linear models are judged by the lemma of Kalman, Yakubovich and Popov: x' = A x + B u, y = C x + D u is passive with
the storage ½ xᵀ P x if a P ≥ 0 makes

    [ AᵀP + P A    P B − Cᵀ  ]
    [ BᵀP − C     −(D + Dᵀ)  ]  ≤ 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import SAME
from daedalus.algebra.manifold import Manifold
from daedalus.analysis.linear.linearise import linearise
from daedalus.analysis.linear.lti import LTI
from daedalus.errors import DaedalusError, InputError
from daedalus.model.assembly.ledger import Account, Ledger
from daedalus.model.expressions import column, concatenate, elements, symbol_key
from daedalus.model.mechanics.mechanical_ledger import mechanical_energy
from daedalus.model.model import Model
from daedalus.model.names import counted, listed, split_derivative, split_index
from daedalus.model.printing import expression_text
from daedalus.model.system.packed_expressions import packed, unpacked
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm, explicit_form
from daedalus.reduction.forms.linearity import is_linear
from daedalus.reduction.reduce import reduce
from daedalus.reduction.rewriting import read_model
from daedalus.studies.storage_bound import has_lower_bound

# Random states and inputs at which the balance is looked at, by judgement.
POINTS = 60
# The least singular value of the constraints beside the largest at states that are judged.
DEAD_CENTRE = 1e-2
# A longer formula of an output is not printed.
LONGEST_OUTPUT = 60
NOTHING_STORED = "has no kinetic or potential energy, no bodies and no stored energy"


# D + Dᵀ of a system without feedthrough is raised to this share of the gain while P is looked for.
REGULAR = 1e-8


@dataclass(frozen=True, eq=False)
class Passivity:
    """The result of `dd.passivity`: the verdict, the storage function, and the reason in a sentence.

    passive: True, False, or None where no storage decides: with a storage that has no lower bound the model is
    cyclo-passive, and the sentence says so. storage: S as an expression in the model's symbols, or the matrix P of
    ½ xᵀ P x. lossless: whether nothing is lost. sentence: the answer with its reason. bounded: whether searches for the
    least value of S ended; None where that was not asked. worst: the largest dS/dt − uᵀ y that was seen, relative to
    the powers there; for linear models the largest eigenvalue of the matrix of Kalman, Yakubovich and Popov.
    system: the one whose symbols the storage contains.
    """

    passive: bool | None
    storage: Any
    lossless: bool
    sentence: str
    worst: float
    bounded: bool | None = None
    system: System | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = {own.name: getattr(self, own.name) for own in fields(self)}
        return state | {"storage": packed(self.system, [self.storage])} if self.system else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        storage = state["storage"]
        vars(self).update(state, storage=unpacked(state["system"], storage)[0] if state["system"] else storage)

    def __str__(self) -> str:
        return self.sentence

    __repr__ = __str__


def passivity(
    model: Model | System | LTI, inputs: str | Iterable[str] | None = None, outputs: str | Iterable[str] | None = None
) -> Passivity:
    """Whether a model is passive from some inputs to some outputs, by its energy or, if it is linear, by its matrices.

    Parameters
    ----------
    model: with energies (kinetic and potential), bodies, parts or `m.stored(...)`, or a linear model or `dd.LTI`.
    inputs, outputs: names in pairs whose products are powers, such as a force and the velocity of its point, "q_dot";
        by default all inputs and their conjugate outputs: the velocity of the coordinate for a force, otherwise the
        derivative of the rate of stored energy with respect to the input. A model without inputs is judged by its
        energy alone.

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
        return _by_matrices(model.select(inputs=_list(inputs), outputs=_list(outputs)))
    book = read_model(model, "passivity")
    system = book.freeze()
    names_in = _list(inputs) or [v.name for v in system.of_kind("input")]
    u = concatenate(column(book[name]) for name in names_in)
    storage = _storage_of(book, system)
    if isinstance(storage, str) and not _linear(system):
        raise InputError(
            "The model has no energy that passivity could be judged by.",
            f"{system.name!r} is nonlinear and {storage}",
            because="a storage function is needed, and only linear models have one that can be computed.",
            remedy="m.stored(...) with the stored energy, or dd.passivity(dd.linearise(m).reduced())",
        )
    ports = _ports(book, system, names_in, u, _list(outputs), storage)
    if isinstance(storage, Storage):
        found = _by_energy(storage, ports)
        # The matrices of a model with constant terms are those of deviations from a rest that may not exist.
        if found.passive or not _linear(system) or found.passive is None or _has_constants(system):
            return found
    return _by_matrices(_state_space(book, names_in, ports), ports.names_out)


# -- what is asked ---------------------------------------------------------------------------------------------


class Storage(NamedTuple):
    """An energy in the symbols of a system that gives x' by formulas; word and title: what it is called."""

    energy: ca.SX
    word: str
    title: str
    system: System
    form: ExplicitForm

    @property
    def rate(self) -> ca.SX:
        """dS/dt along the motion."""
        return ca.jtimes(self.energy, self.system.symbol("x"), self.form.xdot)


class Ports(NamedTuple):
    """Inputs and outputs in pairs."""

    u: ca.SX
    y: ca.SX
    names_in: list[str]
    names_out: list[str]

    @property
    def names(self) -> str:
        """Where power goes in, and what it is judged by; nothing without inputs."""
        if not self.names_in:
            return ""
        return f" from {', '.join(self.names_in)} to {', '.join(self.names_out)}"

    @property
    def power(self) -> str:
        """uᵀ y in words."""
        if len(self.names_in) != len(self.names_out):
            return "the power of the inputs"
        return " + ".join(f"{a} · {b}" for a, b in zip(self.names_in, self.names_out))


def _storage_of(book: Model, system: System) -> Storage | str:
    """What the model stores, and the formulas of its motion; else what is missing."""
    flat, ledger = book.flat(), system.part(Ledger)
    if ledger is not None and ledger.entries:
        energy = ca.sum1(ledger.amounts()[Account.STORED])
        word, title = "the stored energy", "the stored energy as its storage function"
    elif flat.written.mechanics.positions:
        energy, word, title = mechanical_energy(flat)[0], "T + V", "the storage function T + V"
    else:
        return NOTHING_STORED
    if energy.is_constant():
        return NOTHING_STORED
    whole: Model = book
    try:
        form = explicit_form(book.freeze())
    except DaedalusError:
        try:
            whole = reduce(book)
            form = explicit_form(whole.freeze())
        except DaedalusError:
            return "the rate of its stored energy has no formula"
    reduced = whole.freeze()
    energy = form.applied(reduced, energy)
    known = {symbol_key(s) for letter in ("t", "x", "p") for s in elements(reduced.symbol(letter))}
    if any(symbol_key(s) not in known for s in ca.symvar(energy)):
        return "its stored energy is no function of its states"
    return Storage(energy, word, title, reduced, form)


def _ports(
    book: Model, system: System, names_in: list[str], u: ca.SX, asked: list[str] | None, storage: Storage | str
) -> Ports:
    """The pairs whose powers are judged; an InputError where there are none."""
    if asked is None and isinstance(storage, Storage):
        fed = _fed(book, storage, u)
        if fed is not None:
            return Ports(u, fed, names_in, _texts(book, storage, elements(fed), names_in))
    names_out = asked if asked is not None else list(system.outputs)
    y = concatenate(_output(book, system, name) for name in names_out)
    if not u.numel() or u.numel() != y.numel():
        known = [*system.outputs, *system.labels["x"]]
        counts = (u.numel(), "input", names_in), (y.numel(), "output", names_out)
        sample = [system.labels["u"][0], known[-1]] if system.labels["u"] and known else None
        raise InputError(
            "Inputs and outputs do not come in pairs.",
            ", ".join(f"{counted(n, word)}{f' ({listed(own, 6)})' if own else ''}" for n, word, own in counts),
            because="the product of each input with its output is a power.",
            remedy=f"dd.passivity(m, {sample[0]!r}, {sample[1]!r})" if sample else 'm.input("force")',
        )
    return Ports(u, y, names_in, names_out)


def _fed(book: Model, storage: Storage, u: ca.SX) -> ca.SX | None:
    """What inputs feed: ∂(Σ Q q')/∂u of forces Q on coordinates, else ∂(dS/dt)/∂u; None where that contains u."""
    if not u.numel():
        return u
    flat = book.flat()
    applied = {n: e for n, e in flat.written.mechanics.applied.items() if n in flat.written.mechanics.coordinates}
    power = sum((ca.dot(column(e), column(flat.written.derivative_symbol(n, 1))) for n, e in applied.items()), ca.SX(0))
    for whole in (power, storage.rate):
        found = ca.densify(ca.gradient(whole, u))
        if not ca.depends_on(found, u) and not any(entry.is_constant() for entry in elements(found)):
            return found
    return None


def _texts(book: Model, storage: Storage, fed: list[ca.SX], names_in: list[str]) -> list[str]:
    """What inputs feed in words: a quantity of the model by its name, else a formula; a whole vector by its name."""
    system = storage.system
    named = {name: element for letter in ("x", "u") for name, element in _labelled(system, letter)}
    named |= {name: storage.form.applied(system, e) for name, e in system.outputs.items() if e.numel() == 1}
    labels = {symbol_key(s): name for letter in ("x", "u", "p") for name, s in _labelled(system, letter)}
    labels |= book.flat().written.labels()
    values = _at_random(system, [storage.form.applied(system, column(e)) for e in fed])
    known = dict(zip(named, _at_random(system, list(named.values()))))
    texts = []
    for entry, own in zip(fed, values):
        equal = [name for name, other in known.items() if np.allclose(own, other, rtol=SAME, atol=0.0)]
        minus = [f"-{name}" for name, other in known.items() if np.allclose(own, -other, rtol=SAME, atol=0.0)]
        texts.append(min(equal or minus, key=len) if equal or minus else expression_text(entry, labels))
    stems = {split_index(text)[0] for text in texts if " " not in text}
    if len(names_in) == 1 and len(stems) == 1 and len(texts) > 1 and all(" " not in text for text in texts):
        return [stems.pop()]
    if max(map(len, texts), default=0) > LONGEST_OUTPUT:
        return [f"the power per unit of {name}" for name in names_in]
    return [f"({text})" if " " in text else text for text in texts]


def _labelled(system: System, letter: str) -> list[tuple[str, ca.SX]]:
    return list(zip(system.labels[letter], elements(system.symbol(letter))))


def _at_random(system: System, expressions: list[ca.SX]) -> list[np.ndarray]:
    """Values at a few random states, one row an expression."""
    arguments = system.symbols(("t", "x", "u", "p"))
    function = ca.Function("values", arguments, [concatenate(expressions)], {"allow_free": True})
    if function.has_free():
        return [np.full(1, np.nan)] * len(expressions)
    draw, p = np.random.default_rng(5), np.nan_to_num(system.start["p"], nan=1.0)
    drawn = [(draw.uniform(0.5, 1.5, system.sizes["x"]), draw.uniform(0.5, 1.5, system.sizes["u"])) for _ in range(4)]
    return list(np.hstack([function(0.0, x, u, p).full() for x, u in drawn]))


def _list(names: str | Iterable[str] | None) -> list[str] | None:
    return None if names is None else [names] if isinstance(names, str) else list(names)


def _output(book: Model, system: System, name: str) -> ca.SX:
    return column(system.outputs[name] if name in system.outputs else book[name])


def _linear(system: System) -> bool:
    unknowns = _unknowns(system)
    residual = system.residual
    return bool(is_linear(residual, unknowns, ca.jacobian(residual, unknowns)))


def _unknowns(system: System) -> ca.SX:
    return concatenate(system.symbols(("xdot", "x", "z", "u")))


def _has_constants(system: System) -> bool:
    """Whether something is left of the equations where every unknown is zero."""
    unknowns = _unknowns(system)
    left = ca.substitute(system.residual, unknowns, ca.SX.zeros(unknowns.shape))
    given = np.nan_to_num(system.start["p"], nan=1.0)
    values = ca.Function("left", [system.symbol("t"), system.symbol("p")], [left])(0.0, given).full()
    return bool(np.any(values != 0))


# -- by energy -------------------------------------------------------------------------------------------------


def _by_energy(storage: Storage, ports: Ports) -> Passivity:
    """dS/dt − uᵀ y at random states and inputs, on the constraints where there are some."""
    energy, word, title, system, form = storage
    power = form.applied(system, ca.dot(ports.u, ports.y)) if ports.u.numel() else ca.SX(0)
    gains = ca.gradient(energy, system.symbol("x")) * form.xdot
    arguments = system.symbols(("t", "x", "u", "p"))
    nearest = _constraints_of(system)
    function = ca.Function("power", arguments, [storage.rate - power, ca.sum1(ca.fabs(gains)) + ca.fabs(power)])
    draw, p = np.random.default_rng(1788), np.nan_to_num(system.start["p"], nan=1.0)
    # Pressures of 1e6 Pa are judged at such values.
    wide = np.maximum(1.0, np.abs(np.nan_to_num(system.start["x"], nan=1.0)))
    shares = []
    for _ in range(POINTS):
        state = _on_constraints(nearest, wide * draw.uniform(-1.5, 1.5, system.sizes["x"]), p)
        if state is None:
            continue
        excess, scale = (float(part) for part in function(0.0, state, draw.uniform(-1.5, 1.5, system.sizes["u"]), p))
        if np.isfinite(excess):
            shares.append(excess / max(scale, 1e-12))
    if not shares:
        text = f"No state was found at which {word} could be judged."
        return Passivity(None, energy, False, text, np.nan, system=storage.system)
    worst, lossless = max(shares), min(shares) > -SAME
    states, alone = f"at {len(shares)} random states", not ports.u.numel()
    if worst > SAME:
        text = (
            f"Not passive by its energy{ports.names}: {word} can grow{'' if alone else f' faster than {ports.power}'} "
            f"{'' if alone else 'feeds it '}(by {worst:.2g} of the powers at one of {len(shares)} random states)."
        )
        return Passivity(False, energy, False, text, worst, system=storage.system)
    if alone:
        balance = f"it {'stays constant' if lossless else 'never grows'} {states}"
    else:
        ends = "nothing is lost" if lossless else "the rest is lost"
        balance = f"its rate is {'' if lossless else 'at most '}{ports.power} {states}; {ends}"
    bounded = has_lower_bound(*_at_rest(system, energy, p))
    if bounded:
        end = f"{word[0].upper()}{word[1:]} is bounded from below."
        text = f"Passive{ports.names or ' without inputs'} with {title}: {balance}. {end}"
        return Passivity(True, energy, lossless, text, worst, True, storage.system)
    text = (
        f"Cyclo-passive{ports.names} with {title}: {balance}. No storage bounded from below was found: {word} has no "
        "lower bound, so an unlimited amount of energy could be taken out."
    )
    return Passivity(None, energy, lossless, text, worst, bounded, storage.system)


def _at_rest(system: System, energy: ca.SX, p: np.ndarray) -> tuple[ca.SX, ca.SX, ca.SX | None]:
    """The energy without motion, the states that it is a function of, and what constraints ask of these."""
    x = elements(system.symbol("x"))
    moving = [_is_rate(system, label) for label in system.labels["x"]]
    still = {symbol_key(s): s for s, moves in zip(x, moving) if moves}
    given = concatenate([system.symbol("t"), system.symbol("p"), *still.values()])
    values = ca.vertcat(ca.SX(0), ca.SX(ca.DM(p)), ca.SX.zeros(len(still)))
    kept = concatenate([*system.invariants.values()]) if system.invariants else ca.SX(0, 1)
    at, conditions = ca.substitute([energy, kept], [given], [values])
    places = concatenate([s for s, moves in zip(x, moving) if not moves])
    own = [c for c in elements(conditions) if not c.is_constant() and any(ca.which_depends(c, places))]
    inside = {symbol_key(s) for s in elements(places)}
    own = [c for c in own if all(symbol_key(s) in inside for s in ca.symvar(c))]
    return at, places, concatenate(own) if own else None


def _is_rate(system: System, label: str) -> bool:
    """Whether a state is the rate of another, or the velocity of a body."""
    stem = split_index(label)[0]
    return split_derivative(stem)[1] > 0 or stem.rpartition(".")[2] in ("velocity", "angular_velocity")


def _constraints_of(system: System) -> ca.Function | None:
    """What solutions keep at zero and its slopes, as a function of t, x and p; None where nothing is kept."""
    if not system.invariants:
        return None
    kept = concatenate([*system.invariants.values()])
    arguments = system.symbols(("t", "x", "p"))
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


def _state_space(book: Model, names_in: list[str], ports: Ports) -> LTI:
    """A, B, C, D between the chosen inputs and outputs."""
    twin = book.copy()
    twin.output("passivity", ports.y)
    lin = linearise(twin)
    return lin.to_state_space().select(
        inputs=names_in, outputs=[o for o in lin.outputs if o.split("[")[0] == "passivity"]
    )


def _by_matrices(system: LTI, outputs: list[str] | None = None) -> Passivity:
    """P by the Riccati equation of a slightly raised D, judged by the matrix of Kalman, Yakubovich and Popov."""
    names = f"from {', '.join(system.inputs)} to {', '.join(outputs or system.outputs)}"
    found = storage_matrix(*(np.asarray(getattr(system, letter), dtype=float) for letter in "ABCD"))
    return Passivity(found.passive, found.P, False, found.sentence.format(names=names), found.worst)


class StorageMatrix(NamedTuple):
    """The verdict, P, the largest eigenvalue of the matrix above, and a sentence with a place for {names}."""

    passive: bool | None
    P: np.ndarray | None
    worst: float
    sentence: str


def storage_matrix(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> StorageMatrix:
    """P by the Riccati equation of a slightly raised D, judged by the matrix of Kalman, Yakubovich and Popov."""
    from scipy.linalg import solve_continuous_are

    gain = max(1.0, float(np.abs(C).max(initial=0.0)) * float(np.abs(B).max(initial=0.0)))
    spectrum = _least_real_part(A, B, C, D)
    if spectrum < -1e-9 * gain:
        text = (
            f"Not passive {{names}}: the Hermitian part of the transfer function falls to {spectrum:.3g} on the axis."
        )
        return StorageMatrix(False, None, -spectrum, text)
    if np.linalg.eigvals(A).real.max(initial=-1.0) > 1e-9 * max(1.0, float(np.abs(A).max(initial=0.0))):
        return StorageMatrix(False, None, np.inf, "Not passive {names}: it is unstable.")
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
        text = "Positive real {names} at all sampled frequencies; no storage matrix was found."
        return StorageMatrix(None, None, np.nan, text)
    worst, P = best
    size = max(1.0, float(np.abs(P).max()))
    if worst <= 1e-3 * gain * size and float(np.linalg.eigvalsh(P).min()) >= -1e-6 * size:
        text = "Passive {names} with the storage ½ x'P x: the matrix of Kalman, Yakubovich and Popov has no eigenvalue "
        return StorageMatrix(True, P, worst, f"{text}above {worst:.1g}.")
    text = f"Undecided {{names}}: the best storage matrix leaves an eigenvalue of {worst:.2g}."
    return StorageMatrix(None, P, worst, text)


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
