"""Values between the steps of stiff runs: as accurate as the steps, whatever the stiffness and the method."""

import math

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

METHODS = ["radau3", "radau5", "radau9", "sdirk4", "rodas4", "rodas5p", "bdf"]
# Between its ends a step may be off by ten tolerances of what its values are there, beside what its ends are off by.
MOST = 10.0


class Driven:
    """x = T y, y_k' = -rate_k (y_k - a_k sin(w_k t + s_k)), from its slow motion; and z + z³/10 = Σ x + sin 2 t."""

    def __init__(self, seed, rates=None):
        draw = np.random.default_rng(seed)
        n = len(rates) if rates is not None else int(draw.integers(1, 4))
        self.rates = 10.0 ** draw.uniform(-1, 9, n) if rates is None else np.array(rates)
        self.speeds, self.sizes, self.shifts = draw.uniform(0.5, 3, n), draw.uniform(0.3, 2, n), draw.uniform(0, 6, n)
        self.mixed = np.eye(n) + 0.5 * draw.uniform(-1, 1, (n, n))

    def x(self, times):
        """The exact states, in closed form."""
        phase = self.speeds * np.asarray(times)[..., None] + self.shifts
        gain = self.sizes * self.rates / (self.rates**2 + self.speeds**2)
        return gain * (self.rates * np.sin(phase) - self.speeds * np.cos(phase)) @ self.mixed.T

    def z(self, times):
        """The exact algebraic variable, by Newton's method."""
        right = self.x(times).sum(-1) + np.sin(2 * np.asarray(times))
        z = np.array(right)
        for _ in range(50):
            z -= (z + 0.1 * z**3 - right) / (1 + 0.3 * z**2)
        return z

    def model(self, algebraic):
        m = dd.Model("driven")
        n = len(self.rates)
        x = m.state("x", n, start=self.x(0.0))
        y = ca.mtimes(ca.DM(np.linalg.inv(self.mixed)), x)
        target = [self.sizes[k] * ca.sin(self.speeds[k] * m.time + self.shifts[k]) for k in range(n)]
        slopes = [-self.rates[k] * (y[k] - target[k]) for k in range(n)]
        m.equation(m.der(x), ca.mtimes(ca.DM(self.mixed), ca.vertcat(*slopes)))
        if algebraic:
            z = m.algebraic("z")
            m.equation(z + 0.1 * z**3, ca.sum1(x) + ca.sin(2 * m.time))
        return m

    def check(self, method, rtol, algebraic=True):
        """Runs it and looks at random times."""
        tr = dd.simulate(self.model(algebraic), 5.0, method=method, rtol=rtol, atol=1e-2 * rtol)
        assert tr.success
        times = np.sort(np.random.default_rng(5).uniform(0, 5, 200))
        found = {
            "x": (tr.at(times)["x"].reshape(200, -1), self.x(times), tr["x"].reshape(len(tr.time), -1), self.x(tr.time))
        }
        if algebraic:
            found["z"] = tuple(
                values[:, None] for values in (tr.at(times)["z"], self.z(times), tr["z"], self.z(tr.time))
            )
        for name, values in found.items():
            assert excess(tr.time, times, *values, rtol, 1e-2 * rtol) < MOST, (name, self.rates)


def excess(rows, times, got, exact, at_rows, exact_at_rows, rtol, atol):
    """By how much values between rows are worse than the rows next to them, in tolerances."""
    k = np.clip(np.searchsorted(rows, times), 1, len(rows) - 1)
    off = np.abs(at_rows - exact_at_rows)
    size = np.maximum(np.abs(exact), np.maximum(np.abs(exact_at_rows[k - 1]), np.abs(exact_at_rows[k])))
    beyond = np.abs(got - exact) - np.maximum(off[k - 1], off[k])
    return float(np.max(beyond / (rtol * size + atol)))


@pytest.mark.parametrize("rate", [1e2, 1e4, 1e6, 1e9])
@pytest.mark.parametrize(("method", "rtol"), [("auto", 1e-6), ("radau5", 1e-6), ("radau9", 1e-8)])
def test_a_stiff_state_that_follows_a_signal(method, rtol, rate):
    Driven(0, [rate]).check(method, rtol, algebraic=False)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("method", "rtol"), [("auto", 1e-4), ("radau5", 1e-6), ("auto", 1e-8)])
def test_stiff_slow_and_algebraic_variables_together(method, rtol, seed):
    Driven(seed).check(method, rtol)


@pytest.mark.long
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("method", METHODS)
def test_all_methods_on_many(method, rtol):
    for seed in range(10, 10 + (25 if rtol > 1e-8 else 6)):
        Driven(seed).check(method, rtol)
        Driven(seed).check(method, rtol, algebraic=False)


@pytest.mark.parametrize("rates", [[200.0], [30.0, 400.0], [2.0, 1000.0]])
@pytest.mark.parametrize("method", ["dop853", "tsit5", "dopri5"])
def test_explicit_steps_at_the_edge_of_stability(method, rates):
    """Ends of such steps cancel what their stages are off by; the polynomial does not, and is made of shorter ones."""
    for rtol in (1e-4, 1e-6):
        Driven(1, rates).check(method, rtol, algebraic=False)
    driven, times = Driven(1, rates), np.linspace(0.011, 4.987, 97)
    model = driven.model(algebraic=False)
    asked = dd.simulate(model, 5.0, method=method, rtol=1e-4, save_at=times)
    whole = dd.simulate(model, 5.0, method=method, rtol=1e-4)
    assert asked.work.steps == whole.work.steps
    np.testing.assert_allclose(asked["x"], whole.at(times)["x"], rtol=1e-12, atol=1e-14)


def test_save_at_and_events_see_the_same_values():
    driven = Driven(3, [1e7])
    model = driven.model(algebraic=False)
    model.event("up", model["x"], direction=1)
    times = np.random.default_rng(1).uniform(0, 5, 50)
    times.sort()
    tr = dd.simulate(model, 5.0, method="radau5", save_at=times)
    np.testing.assert_allclose(tr["x"].reshape(-1, 1), driven.x(times), atol=1e-5)
    for event in dd.simulate(model, 5.0, method="radau5").events:
        assert abs(driven.x(event.time)[0]) < 1e-5


def test_steps_are_what_their_ends_ask_for():
    """The order of the polynomials is raised where stiff components need it: their steps follow the signal, no more."""
    for rate in (1e4, 1e9):
        tr = dd.simulate(Driven(0, [rate]).model(algebraic=False), 5.0, method="radau5")
        assert tr.work.steps < 40
    hires = catalogue.load("hires")
    assert dd.simulate(hires.model, hires.span, start=hires.start, method="radau5", atol=1e-9).work.steps <= 138


# Systems that no jump disturbs, whose rows are to be compared with those of a tight run.
SMOOTH = [
    "hires",
    "robertson",
    "chemical_akzo",
    "oregonator",
    "van_der_pol",
    "transistor_amplifier",
    "amplifier_of_parts",
]


def between_of_known(name, method, rtol):
    """The excess over all states and algebraic variables of a known system, against the rows of a tight run."""
    known = catalogue.load(name)
    call = {"start": known.start, "inputs": known.inputs}
    tight = dd.simulate(known.model, known.span, method="radau9", rtol=1e-4 * rtol, atol=1e-7 * rtol, **call)
    tr = dd.simulate(known.model, known.span, method=method, rtol=rtol, atol=1e-3 * rtol, **call)
    assert tight.success
    assert tr.success
    inner = np.random.default_rng(2).choice(len(tight.time) - 2, min(300, len(tight.time) - 2), replace=False) + 1
    names = [v.name for v in tr.system.variables if v.kind in ("state", "algebraic")]
    worst = 0.0
    for key in names:
        rows = np.asarray(tight[key]).reshape(len(tight.time), -1)
        got = tr.at(tight.time[inner])[key].reshape(len(inner), -1)
        at_rows, exact = np.asarray(tr[key]).reshape(len(tr.time), -1), tight.at(tr.time)[key].reshape(len(tr.time), -1)
        worst = max(worst, excess(tr.time, tight.time[inner], got, rows[inner], at_rows, exact, rtol, 1e-3 * rtol))
    return worst


@pytest.mark.parametrize("name", ["hires", "robertson", "chemical_akzo"])
def test_known_stiff_systems(name):
    assert between_of_known(name, "radau5", 1e-6) < MOST


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SMOOTH)
def test_all_methods_on_known_systems(name, method):
    assert between_of_known(name, method, 1e-6) < MOST


@pytest.mark.parametrize("method", ["auto", "tsit5", "dopri5"])
@pytest.mark.parametrize("rate", [0.3, 1.0, 4.0])
def test_long_explicit_steps(method, rate):
    """Few steps of a high order have polynomials of a lower one: two tolerances of the largest value, at any time."""
    driven, times = Driven(1, [rate]), np.random.default_rng(3).uniform(0, 5, 300)
    for rtol in (1e-4, 1e-6, 1e-8):
        tr = dd.simulate(driven.model(algebraic=False), 5.0, method=method, rtol=rtol, atol=1e-2 * rtol)
        at_steps = np.abs(tr["x"].reshape(-1, 1) - driven.x(tr.time)).max()
        off = np.abs(tr.at(times)["x"].reshape(-1, 1) - driven.x(times)).max()
        assert off < at_steps + 2 * rtol * np.abs(driven.x(times)).max()


@pytest.mark.parametrize(
    "method", ["trapezoidal", "implicit_euler", "gauss2", "gauss3", dd.lobatto_iiic(3), dd.radau_iia(3)]
)
def test_algebraic_variables_of_fixed_steps_follow_the_states(method):
    """z is as far off as x between the steps, times its slope: straight lines were off by 1e-3 (trapezoidal rule)."""
    driven, times = Driven(0, [1.0, 1e4]), np.random.default_rng(5).uniform(0, 5, 50)
    tr = dd.simulate(driven.model(algebraic=True), 5.0, method=method, step=0.05)
    at = tr.at(times)
    off = np.abs(at["x"] - driven.x(times)).sum(axis=1).max()
    assert np.abs(at["z"] - driven.z(times)).max() < off + 1e-12
    assert np.abs(at["z"] + 0.1 * at["z"] ** 3 - at["x"].sum(axis=1) - np.sin(2 * times)).max() < 1e-12


@pytest.mark.parametrize("method", ["gauss1", "gauss2", "gauss3", "gauss4", dd.lobatto_iiia(3), dd.lobatto_iiia(4)])
@pytest.mark.parametrize("step", [0.1, 0.05])
def test_fixed_steps_by_collocation_are_off_by_its_polynomial_between_them(method, step):
    """x - u = h^(s+1) x^(s+1) ∫ Π (θ - c_i) / s!, and what the rows are off by (E. Hairer, S. P. Norsett, G. Wanner,
    Solving Ordinary Differential Equations I, II.7): s + 1 orders between the steps, whatever the rows have."""
    m = dd.Model("circle")
    x = m.state("x", 2, start=[1.0, 0.0])
    size = ca.sumsqr(x)
    m.equation(m.der(x), ca.vertcat(-size * x[1], size * x[0]))
    tr = dd.simulate(m, 2.0, method=method, step=step)
    times = np.random.default_rng(0).uniform(0, 2, 300)
    off = np.abs(tr.at(times)["x"] - np.c_[np.cos(times), np.sin(times)]).max()
    rows = np.abs(tr["x"] - np.c_[np.cos(tr.time), np.sin(tr.time)]).max()
    nodes = dd.tableau(method).c if isinstance(method, str) else method.c
    left_out = np.polynomial.Polynomial.fromroots(nodes).integ()(np.linspace(0, 1, 1001))
    bound = step ** (len(nodes) + 1) * np.abs(left_out).max() / math.factorial(len(nodes))
    assert off < rows + 1.2 * bound + 1e-14
