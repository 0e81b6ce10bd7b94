"""Random models with known solutions: an ODE, written so that nobody would recognise it.

The ODE x' = f(t, x, k, u) has one to three states, a parameter k and at times an input u(t). It is disguised by
algebraic variables, changes of state (w = y + y³/2 for a state y that is no longer one), derivatives that nobody asks
for (s' = f, s = y: index 2; s' = v, v' = f, s = y: index 3), points on circles (index 2) and sums of equations. Each
variable of the model has its value as an expression of x, so that the ODE, solved by SciPy, says what it must be.

`disguised(seed)` is the model of a seed; `disguised(seed).story` tells how it was made.
"""

from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

import daedalus as dd

SPAN = 1.5
# Of the reference.
RTOL, ATOL = 1e-11, 1e-13
# It looks for events at least so often: a dip between two steps is no change of sign.
LOOKS = 50


@dataclass
class Disguised:
    """A model, what its variables are in terms of the ODE, and the ODE with its reset."""

    seed: int
    model: dd.Model
    truth: dict[str, ca.SX]  # by name, in the symbols of the ODE
    symbols: tuple[ca.SX, ca.SX, ca.SX]  # t, x, k
    rhs: ca.SX
    x0: np.ndarray
    inputs: dict[str, ca.SX]
    guard: ca.SX | None = None
    reset: ca.SX | None = None
    index: int = 0
    story: list[str] = field(default_factory=list)
    has_formulas: bool = True  # of x' and z by linear solves
    k: float = 0.8

    def __str__(self):
        return "\n  ".join([f"disguised({self.seed}), index {self.index}", *self.story])

    def reference(self, times, k=None, x0=None):
        """x of the ODE at times, (len(times), n), and when its events are: signs of its guard at the ends of steps."""
        k, x = self.k if k is None else k, np.array(self.x0 if x0 is None else x0, dtype=float)
        f = ca.Function("f", list(self.symbols), [self.rhs])
        t, out, fired = 0.0, np.full((len(times), len(x)), np.nan), []
        event = None
        if self.guard is not None:
            g = ca.Function("g", list(self.symbols), [self.guard])
            jump = ca.Function("r", list(self.symbols), [self.reset])

            def event(t, x):
                return float(g(t, x, k))

            event.terminal, event.direction = True, -1
        while True:
            run = solve_ivp(
                lambda t, x: f(t, x, k).full().ravel(), (t, SPAN), x, "DOP853", rtol=RTOL, atol=ATOL,
                dense_output=True, events=event, max_step=SPAN / LOOKS if event else np.inf,
            )  # fmt: skip
            inside = (times >= t) & (times <= run.t[-1])
            if inside.any():
                out[inside] = run.sol(times[inside]).T
            if run.status != 1:
                return out, fired
            t, x = run.t[-1], jump(run.t[-1], run.y[:, -1], k).full().ravel()
            fired.append(t)

    @cached_property
    def fired(self):
        """When the events of the ODE are."""
        return self.reference(np.array([SPAN]))[1]

    def values(self, names, times, **changed):
        """What variables must be at times, (len(times), len(names))."""
        x, _ = self.reference(times, **changed)
        k = changed.get("k", self.k)
        f = ca.Function("truth", list(self.symbols), [ca.vertcat(*(self.truth[name] for name in names))])
        return np.array([f(t, row, self.k if k is None else k).full().ravel() for t, row in zip(times, x)])


class _Writing:
    """A model on its way: its variables, what they are, and equations in the symbols of the model."""

    def __init__(self, seed, hybrid, driven):
        self.rng = rng = np.random.default_rng(seed)
        self.n = n = int(rng.integers(1, 4))
        self.t, self.x, self.k = ca.SX.sym("t"), ca.SX.sym("X", n), ca.SX.sym("K")
        self.m = dd.Model(f"disguised {seed}")
        self.parameter = self.m.parameter("k", 0.8)
        self.story, self.truth, self.index, self.has_formulas = [], {}, 0, True
        self.own = []  # each state of the ODE in symbols of the model
        self.equations = []  # (derivative or None, expression) in symbols of the model
        self.reset = {}  # what a reset has to say: name -> function of the new x
        A = rng.normal(size=(n, n)) * 0.6 - 0.9 * np.eye(n)
        b = rng.normal(size=n)
        bend = float(rng.choice([0.0, 0.3]))
        signal = ca.sin(1.3 * self.t) + 0.2 * self.t if driven else ca.SX(0)
        self.signal, self.driven = signal, driven

        def f(x, k, u):
            return ca.mtimes(ca.SX(ca.DM(A)), x) * k + bend * ca.sin(x) + ca.SX(ca.DM(b)) * (0.5 + u)

        self.f = f
        self.rhs = ca.densify(f(self.x, self.k, signal))
        self.x0 = rng.uniform(0.6, 1.4, n)
        self.u = self.m.input("u") if driven else ca.SX(0)
        self.story.append(f"x' = f of {n} states{', driven by u(t)' if driven else ''}, bend {bend}")

    def rate(self, expression):
        """The time derivative of an expression of the ODE's symbols."""
        return ca.jtimes(expression, self.x, self.rhs) + ca.jacobian(expression, self.t)

    # -- the states ------------------------------------------------------------------------------------------------

    def write_states(self):
        """Each state as it is, or behind a change of state."""
        for i in range(self.n):
            kind = self.rng.choice(["plain", "plain", "changed", "shifted"])
            x, x0 = self.x[i], float(self.x0[i])
            if kind == "plain":
                self.own.append(self.m.state(f"x{i}", start=x0))
                self.truth[f"x{i}"], self.reset[f"x{i}"] = x, x
            elif kind == "changed":
                w, y = self.m.state(f"w{i}", start=x0 + x0**3 / 2), self.m.algebraic(f"y{i}", start=self.guess(x0))
                self.own.append(y)
                self.truth |= {f"w{i}": x + x**3 / 2, f"y{i}": x}
                self.reset[f"w{i}"] = x + x**3 / 2
                self.equations.append((None, w - y - y**3 / 2))
                self.has_formulas = False
                self.story.append(f"x{i} is y{i} with w{i} = y{i} + y{i}^3/2 for a state")
            else:
                c = float(self.rng.uniform(0.5, 2.0))
                w, y = self.m.state(f"w{i}", start=c * x0 + 1), self.m.algebraic(f"y{i}")
                self.own.append(y)
                self.truth |= {f"w{i}": c * x + 1, f"y{i}": x}
                self.reset[f"w{i}"] = c * x + 1
                self.equations.append((None, w - c * y - 1))
                self.story.append(f"x{i} is y{i} with w{i} = {c:.3g} y{i} + 1 for a state")
        own = ca.vertcat(*self.own)
        rates = self.f(own, self.parameter, self.u)
        for i, name in enumerate(list(self.reset)):
            slope = ca.substitute(ca.jacobian(self.reset[name], self.x[i]), self.x, own)
            self.equations.append((self.m.der(self.m[name]), slope * rates[i]))

    def guess(self, value):
        return float(value * self.rng.uniform(0.7, 1.3)) if self.rng.random() < 0.5 else None

    # -- disguises -------------------------------------------------------------------------------------------------

    def some(self):
        """Something that moves, in symbols of the model and of the ODE; at times with the input in it."""
        expression, truth, text = self._of_variables()
        if self.driven and self.rng.random() < 0.35:
            c = float(self.rng.uniform(0.3, 1.0))
            return expression + c * self.u, truth + c * self.signal, f"{text} + {c:.2g} u"
        return expression, truth, text

    def _of_variables(self):
        names = list(self.truth)
        name = str(self.rng.choice(names))
        if self.rng.random() < 0.3 and len(names) > 1:
            other, c = str(self.rng.choice(names)), float(self.rng.uniform(-1, 1))
            return (
                self.m[name] + c * self.m[other],
                self.truth[name] + c * self.truth[other],
                f"{name} + {c:.2g} {other}",
            )
        if self.rng.random() < 0.2:
            return (
                self.m[name] * (1 + 0.2 * self.m[name]),
                self.truth[name] * (1 + 0.2 * self.truth[name]),
                f"{name}(1 + {name}/5)",
            )
        return self.m[name], self.truth[name], name

    def disguise(self, number):
        kind = self.rng.choice(["alias", "bent", "slope", "slope", "twice", "circle", "sum"])
        getattr(self, f"_{kind}")(number)

    def _alias(self, number):
        expression, truth, text = self.some()
        r = self.m.algebraic(f"r{number}")
        self.equations.append((None, r - expression))
        self.truth[f"r{number}"] = truth
        self.story.append(f"r{number} = {text}")

    def _bent(self, number):
        """sinh(r) = something."""
        expression, truth, text = self.some()
        r = self.m.algebraic(f"r{number}")
        self.equations.append((None, ca.sinh(r) - expression))
        self.truth[f"r{number}"] = ca.asinh(truth)
        self.has_formulas = False
        self.story.append(f"sinh(r{number}) = {text}")

    def _slope(self, number):
        """s' = f, s = something: f is its derivative."""
        if self.index > 1:
            return self._alias(number)
        expression, truth, text = self.some()
        s, f = self.m.state(f"s{number}", **self.maybe(truth)), self.m.algebraic(f"f{number}")
        self.equations += [(self.m.der(s), f), (None, s - expression)]
        self.truth |= {f"s{number}": truth, f"f{number}": self.rate(truth)}
        self.reset[f"s{number}"] = truth
        self.index = max(self.index, 2)
        self.story.append(f"s{number}' = f{number}, s{number} = {text}")

    def _twice(self, number):
        """s' = v, v' = f, s = something."""
        if self.index > 1:
            return self._alias(number)
        expression, truth, text = self.some()
        s, v = self.m.state(f"s{number}", **self.maybe(truth)), self.m.state(f"v{number}")
        f = self.m.algebraic(f"f{number}")
        self.equations += [(self.m.der(s), v), (self.m.der(v), f), (None, s - expression)]
        first = self.rate(truth)
        self.truth |= {f"s{number}": truth, f"v{number}": first, f"f{number}": self.rate(first)}
        self.reset |= {f"s{number}": truth, f"v{number}": first}
        self.index = 3
        self.story.append(f"s{number}'' = f{number}, s{number} = {text}")

    def _circle(self, number):
        """A point on a circle at the angle of something, held on it by a multiplier that is zero."""
        if self.index > 1:
            return self._alias(number)
        name = str(self.rng.choice(list(self.reset)))
        angle, truth = self.m[name], self.truth[name]
        start = float(ca.Function("a", [self.t, self.x, self.k], [truth])(0, self.x0, 0.8))
        c = self.m.state(f"c{number}", 2, start=[np.cos(start), np.sin(start)])
        force = self.m.algebraic(f"l{number}")
        rate = self.m.der(angle)
        self.equations.append((self.m.der(c)[0], -c[1] * rate + force * c[0]))
        self.equations.append((self.m.der(c)[1], c[0] * rate + force * c[1]))
        self.equations.append((None, ca.sumsqr(c) - 1))
        self.truth |= {f"c{number}[0]": ca.cos(truth), f"c{number}[1]": ca.sin(truth), f"l{number}": ca.SX(0)}
        self.reset |= {f"c{number}[0]": ca.cos(truth), f"c{number}[1]": ca.sin(truth)}
        self.index = 2
        self.story.append(f"c{number} on the unit circle at the angle {name}")

    def _sum(self, number):
        """One equation of a derivative has another one added."""
        moving = [k for k, (rate, _) in enumerate(self.equations) if rate is not None and rate.numel() == 1]
        if len(moving) < 2:
            return self._alias(number)
        one, other = (int(k) for k in self.rng.choice(moving, 2, replace=False))
        c = float(self.rng.uniform(0.2, 0.8))
        (rate, right), (more, also) = self.equations[one], self.equations[other]
        self.equations[one] = (rate + c * more, right + c * also)
        self.story.append(f"{c:.2g} times an equation is added to another")

    def maybe(self, truth):
        """A start that is given, or none."""
        if self.rng.random() < 0.5:
            return {}
        at = ca.Function("at", [self.t, self.x, self.k], [truth])
        return {"start": float(at(0, self.x0, 0.8))}

    # -- events ----------------------------------------------------------------------------------------------------

    def write_event(self):
        """x0 falls below a level, and all of x jumps; a reset says so of every state, or of those of the ODE alone."""
        times = np.linspace(0, SPAN, 400)
        run = Disguised(0, self.m, {}, (self.t, self.x, self.k), self.rhs, self.x0, {})
        x = run.reference(times)[0][:, 0]
        level = float(np.quantile(x, 0.4))
        if not x[0] > level + 0.05:
            return None, None
        new = ca.vertcat(*(0.3 * self.x[i] + float(v) for i, v in enumerate(self.rng.uniform(0.6, 1.4, self.n))))
        everything = bool(self.rng.random() < 0.5)
        own = {name: value for name, value in self.reset.items() if everything or name[0] in "xwc"}
        names = list(own)
        after = ca.substitute(ca.vertcat(*own.values()), self.x, new)
        after = ca.substitute(
            after, ca.vertcat(self.x, self.k, self.t), ca.vertcat(*self.own, self.parameter, self.m.time)
        )
        self.m.event("jump", self.own[0] - level, direction=-1, reset={name: after[j] for j, name in enumerate(names)})
        self.story.append(f"at x0 = {level:.4g} {', '.join(names)} are reset")
        return self.x[0] - level, new


def disguised(seed, hybrid=False, driven=False, disguises=None):
    """The model of a seed."""
    writing = _Writing(seed, hybrid, driven)
    writing.write_states()
    count = int(writing.rng.integers(0, 4)) if disguises is None else disguises
    for number in range(count):
        writing.disguise(number)
    guard, reset = writing.write_event() if hybrid else (None, None)
    for rate, expression in writing.equations:
        writing.m.equation(expression if rate is None else rate - expression)
    if writing.index == 0 and any(rate is None for rate, _ in writing.equations):
        writing.index = 1
    inputs = {"u": ca.substitute(writing.signal, writing.t, writing.m.time)} if driven else {}
    return Disguised(
        seed, writing.m, writing.truth, (writing.t, writing.x, writing.k), writing.rhs, writing.x0, inputs, guard,
        reset, writing.index, writing.story, writing.has_formulas,
    )  # fmt: skip
