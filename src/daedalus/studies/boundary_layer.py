"""The fast motion from the start: where it comes to rest, and whether it stays there when disturbed.

dz/dτ = g(t0, x0, z) with the slow variables at rest is integrated until it arrives at a root of g. The eigenvalues of
∂g/∂z at the root, and later along the slow motion, tell whether disturbances die out like exp(-margin τ).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import Root, damped_newton
from daedalus.algebra.rank_decision import is_singular, rank_of
from daedalus.errors import InconsistentStartError, ModelError
from daedalus.reduction.forms.explicit_form import explicit_form
from daedalus.reduction.forms.fast_and_slow import FastAndSlow
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.simulate import simulate

# The layer is followed for this many of its own time constants, then twice as long, this often.
FIRST_LENGTH, DOUBLINGS = 10.0, 12
# A real part above -ROUNDED_OFF times the largest modulus counts as zero: rounding of a double or triple eigenvalue.
ROUNDED_OFF = 1e-6
# A step of Newton's method from a simple root changes eigenvalues by less than this share.
CHANGED = 0.05
# At rest means this close to the root, in sizes of the variables.
ARRIVED = 1e-5
# A motion that grows beyond this many sizes of its start has run away.
LARGEST = 1e12
# Of all runs beside a limit: far below the differences of O(ε) that they are compared for.
BESIDE_RTOL, BESIDE_ATOL = 1e-8, 1e-11


class FastPart:
    """g and ∂g/∂z of the fast part as functions of the time and all states."""

    def __init__(self, parts: FastAndSlow) -> None:
        self.parts = parts
        self.system = parts.layer(None).freeze()
        place = {(name, k): j for j, (name, k, _) in enumerate(self.system.entries)}
        self.fast = [place[entry] for entry in parts.fast]
        self.slow = [place[entry] for entry in parts.slow]
        self.nominal = self.system.nominal["x"]
        t, x, p = self.system.symbols(("t", "x", "p"))
        form = explicit_form(self.system)
        speed = form.xdot[self.fast]
        values = [ca.densify(speed), ca.densify(ca.jacobian(speed, x[self.fast])), form.z]
        self._function = ca.Function("fast", [t, x, p], values)
        self._p = self.system.start["p"]

    def at(self, t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """g, ∂g/∂z and the algebraic variables."""
        speed, slopes, algebraic = (value.full() for value in self._function(t, x, self._p))
        return speed.ravel(), slopes, algebraic.ravel()

    def eigenvalues(self, t: float, x: np.ndarray) -> np.ndarray:
        """The eigenvalues of ∂g/∂z, the least damped first."""
        slopes = self.at(t, x)[1]
        if not np.all(np.isfinite(slopes)):
            return np.full(len(slopes), np.nan + 0j)
        values = np.linalg.eigvals(slopes)
        return values[np.lexsort((-values.imag, -values.real))]

    def root_near(self, t: float, x: np.ndarray) -> tuple[np.ndarray, Root]:
        """The states with the fast ones at the root of g that Newton's method finds from here."""

        def equations(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            whole = x.copy()
            whole[self.fast] = v
            speed, slopes, _ = self.at(t, whole)
            size = np.abs(slopes) @ np.maximum(np.abs(v), self.nominal[self.fast])
            return speed, slopes, np.where(size > 0, size, 1.0)

        root = damped_newton(equations, x[self.fast], self.nominal[self.fast])
        found = x.copy()
        found[self.fast] = root.values
        return found, root

    def is_simple(self, t: float, x: np.ndarray) -> bool:
        """Whether a root that Newton's method came near is a simple one: a further step changes no eigenvalue.

        Towards a multiple root, z = 0 of -z³, every step goes a part of the way, and eigenvalues fall with it.
        """
        speed, slopes, _ = self.at(t, x)
        if not np.all(np.isfinite(slopes)) or is_singular(slopes):
            return False
        before, further = self.eigenvalues(t, x), x.copy()
        further[self.fast] -= np.linalg.solve(slopes, speed)
        after = self.eigenvalues(t, further)
        return bool(np.all(np.abs(after - before) <= CHANGED * np.abs(before)))


@dataclass(frozen=True, eq=False)
class Layer:
    """The fast motion from the start over the stretched time, and the states where it ends; all at one time."""

    time: float
    trajectory: Trajectory
    end: np.ndarray


def is_stable(eigenvalues: np.ndarray, size: float | None = None) -> bool:
    """Whether all real parts are negative, by more than rounding of eigenvalues of a size."""
    largest = np.abs(eigenvalues).max(initial=0.0) if size is None else size
    return bool(np.all(np.isfinite(eigenvalues)) and eigenvalues.real.max(initial=-np.inf) < -ROUNDED_OFF * largest)


def follow_layer(fast: FastPart, t0: float, x0: np.ndarray) -> Layer:
    """Integrate the fast motion until it rests; refuses one that swings for ever or runs away."""
    system = fast.parts.layer(t0).freeze()
    labels = system.labels["x"]
    begin, x, length = 0.0, x0, _time_constants(fast, t0, x0)
    for _ in range(DOUBLINGS):
        run = simulate(
            system,
            (begin, begin + length),
            dict(zip(labels, x.tolist())),
            rtol=BESIDE_RTOL,
            atol=BESIDE_ATOL,
        )
        if not run.success:
            break
        begin, x = begin + length, np.array([run.end[name] for name in labels])
        length = max(2 * length, _time_constants(fast, t0, x))
        if np.any(np.abs(x) > LARGEST * np.maximum(np.abs(x0), fast.nominal)):
            break
        end, root = fast.root_near(t0, x)
        away = np.abs(end - x) / np.maximum(np.abs(end), fast.nominal)
        arrived = root.solved and away.max(initial=0.0) < ARRIVED
        if arrived and is_stable(fast.eigenvalues(t0, end)) and fast.is_simple(t0, end):
            whole = simulate(system, begin, dict(zip(labels, x0.tolist())), rtol=BESIDE_RTOL, atol=BESIDE_ATOL)
            return Layer(t0, whole, end)
    raise _no_rest(fast, t0, x0, run)


def _time_constants(fast: FastPart, t0: float, x: np.ndarray) -> float:
    """How long the fast motion is followed from a place: some of its time constants there."""
    rates = np.abs(fast.eigenvalues(t0, x)).max(initial=0.0)
    return FIRST_LENGTH / rates if np.isfinite(rates) and rates > 0 else FIRST_LENGTH


def _no_rest(fast: FastPart, t0: float, x0: np.ndarray, run: Trajectory) -> ModelError | InconsistentStartError:
    """Why the fast motion does not arrive: at the root near the start, or because of where it starts."""
    names = fast.parts.names(fast.parts.fast)
    end, root = fast.root_near(t0, x0)
    if not root.solved:
        return _no_root(fast, t0, x0, root)
    if not fast.is_simple(t0, end):
        return _multiple_root(names, end[fast.fast], t0)
    stable = _stable_root(fast, t0, x0)
    if stable is None:
        values = fast.eigenvalues(t0, end)
        return unstable(fast, values, t0, float(np.abs(values).max(initial=0.0)))
    where = np.where(np.abs(stable) < 1e-12 * fast.nominal, 0.0, stable)[fast.fast]
    rests = ", ".join(f"{name} = {value:.4g}" for name, value in zip(names, where))
    how = f"it runs away: {run.stop_reason}" if not run.success else f"it does not arrive until τ = {run.time[-1]:.3g}"
    return InconsistentStartError(
        "The start is outside the basin of attraction of the fast part.",
        [f"the fast part has a stable rest at {rests}", f"from the start {how}"],
        because="the solutions for small epsilon leave at once and do not stay near those of the limit.",
        remedy=f"start={{...}} with {', '.join(names[:8])} nearer to the rest",
    )


def _multiple_root(names: list[str], values: np.ndarray, t0: float) -> ModelError:
    rests = ", ".join(f"{name} = {0.0 if abs(v) < 1e-3 else v:.4g}" for name, v in list(zip(names, values))[:6])
    return ModelError(
        f"Tikhonov's theorem does not apply: the fast part {', '.join(names[:8])} is not exponentially stable.",
        f"dg/dz is singular at the rest {rests} at t = {t0:.4g}",
        because="all eigenvalues must have negative real parts. The fast motion comes to rest here, but more slowly "
        "than any exponential, so that it is not over in a time of the order of epsilon.",
        remedy="a linear part of the fast equations at their rest, or simulate the model with its epsilon",
    )


def _stable_root(fast: FastPart, t0: float, x0: np.ndarray) -> np.ndarray | None:
    """A stable root of g, looked for around the start and around zero."""
    draw = np.random.default_rng(1952)
    for centre in (x0, np.where(np.isin(np.arange(len(x0)), fast.fast), 0.0, x0)):
        for reach in np.geomspace(0.1, 3.0, 12):
            guess = centre.copy()
            width = reach * np.maximum(np.abs(x0), fast.nominal)[fast.fast]
            guess[fast.fast] += width * draw.standard_normal(len(fast.fast))
            end, root = fast.root_near(t0, guess)
            if root.solved and is_stable(fast.eigenvalues(t0, end)) and fast.is_simple(t0, end):
                return end
    return None


def _no_root(fast: FastPart, t0: float, x0: np.ndarray, root: Root) -> ModelError:
    names = ", ".join(fast.parts.names(fast.parts.fast)[:8])
    slopes = fast.at(t0, x0)[1]
    if is_singular(slopes):
        return ModelError(
            f"Tikhonov's theorem does not apply: at epsilon = 0 the equations do not determine {names}.",
            f"dg/dz by {names} has rank {rank_of(slopes, 'dg/dz').rank} of {len(slopes)} at the start",
            because="without damping a small mass does not come to rest: it swings with a frequency that grows like "
            "1/sqrt(epsilon), and its solutions have no limit.",
            remedy="damping in the fast part, or dd.analyse of the model with epsilon = 0",
        )
    return ModelError(
        f"The fast part has no root near the start: {names} cannot come to rest.",
        f"Newton's method from the start leaves a residual of {root.worst:.2g}",
        because="at epsilon = 0 the fast variables are a root of g(t, x, z) = 0.",
        remedy="other slow start values, or a model whose fast part has an equilibrium",
    )


def unstable(fast: FastPart, values: np.ndarray, t: float, size: float) -> ModelError:
    """The refusal of a fast part that is not exponentially stable; `size` is that of its eigenvalues elsewhere."""
    names = ", ".join(fast.parts.names(fast.parts.fast)[:8])
    remedy = "damping in the fast part, or simulate the model with its epsilon"
    if not np.all(np.isfinite(values)) or values.real.max() > ROUNDED_OFF * size:
        kind, why = "is unstable", "disturbances of the fast variables grow like exp(t/epsilon)."
    elif np.abs(values.imag).max() > ROUNDED_OFF * size:
        kind = "is harmonic"
        why = "it swings for ever, the faster the smaller epsilon is, and its solutions have no limit."
    else:
        kind, why = "loses its stability", "an eigenvalue reaches zero: the root of g that is followed ends in a fold."
        remedy = f"a span that ends before t = {t:.4g}, or simulate the model with its epsilon"
    return ModelError(
        f"Tikhonov's theorem does not apply: the fast part {names} {kind}.",
        f"eigenvalues of dg/dz at t = {t:.4g}: {eigenvalue_text(values, size)}",
        because=f"all real parts must be negative along the whole path. Here {why}",
        remedy=remedy,
    )


def eigenvalue_text(values: np.ndarray, size: float, most: int = 4) -> str:
    """Eigenvalues in a line, pairs written once; parts that are small beside `size` are zero."""
    shown = []
    for value in values:
        real = 0.0 if abs(value.real) <= ROUNDED_OFF * size else value.real
        if abs(value.imag) <= ROUNDED_OFF * size:
            shown.append(f"{real:.4g}")
        elif value.imag > 0:
            shown.append(f"{real:.4g} ± {value.imag:.4g}i")
    return ", ".join(shown[:most]) + (", …" if len(shown) > most else "")
