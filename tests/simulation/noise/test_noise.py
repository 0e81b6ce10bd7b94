"""Runs with noise against what is known of them: exact solutions, order one, stationary variances, and joined runs."""

import casadi as ca
import numpy as np
import pytest
from records_of import records_of

import daedalus as dd
from daedalus.errors import DaedalusError, InputError, ModelError
from daedalus.simulation.noise.ito_drift import with_ito_drift
from daedalus.simulation.result.records_of_methods import NoiseDrawn


def ornstein_uhlenbeck(intensity=1.0, rate=1.0):
    m = dd.Model("Ornstein–Uhlenbeck")
    x, w = m.state("x", start=0.0), m.noise("w", intensity)
    m.equation(m.der(x), -rate * x + w)
    return m


def geometric(calculus="ito", drift=0.5, spread=0.8):
    """dx = drift x dt + spread x dW, beside its own path W."""
    m = dd.Model("geometric Brownian motion")
    x, path, w = m.state("x", start=1.0), m.state("path", start=0.0), m.noise("w", calculus=calculus)
    m.equation(m.der(x), drift * x + spread * x * w)
    m.equation(m.der(path), w)
    return m


@pytest.mark.parametrize("calculus", ["ito", "stratonovich"])
@pytest.mark.parametrize("seed", [0, 1, 5])
def test_geometric_motion_is_that_of_its_path(calculus, seed):
    """One source of noise that multiplies: exact for any step, by the chain rule of either calculus."""
    tr = dd.simulate(geometric(calculus), 1.0, step=0.05, seed=seed, rtol=1e-10)
    correction = 0.5 * 0.8**2 if calculus == "ito" else 0.0
    exact = np.exp((0.5 - correction) * tr.time + 0.8 * tr["path"])
    assert tr["x"] == pytest.approx(exact, rel=1e-8)
    (drawn,) = records_of(tr, NoiseDrawn)
    assert drawn.drift == (calculus == "ito")


def test_the_mean_of_an_ito_integral_is_that_of_the_drift():
    en = dd.sweep(geometric(), 1.0, seeds=2000, step=0.05, save_at="end", method="rk4")
    values = en["x"].values.ravel()
    assert abs(values.mean() - np.exp(0.5)) < 5 * values.std() / np.sqrt(len(values))


def multiplied():
    m = dd.Model("double well")
    x, w = m.state("x", start=1.0), m.noise("w", 0.25)
    m.equation(m.der(x), x - x**3 + (0.5 + 0.3 * x) * w)
    return m


def pushed_pendulum():
    m = dd.Model("pendulum")
    a, w = m.state("a", start=0.5, rate=0.0), m.noise("w", 0.5)
    m.equation(m.der(m.der(a)), -ca.sin(a) - 0.1 * m.der(a) + w)
    return m


@pytest.mark.parametrize("make", [multiplied, pushed_pendulum])
def test_the_error_falls_with_the_step(make):
    """Order one in the root mean square over paths, against the same paths with steps ten times shorter."""
    model, name = make(), make().freeze().labels["x"][0]
    options = {"seeds": 200, "save_at": "end", "method": "dop853", "on": "cpu"}
    reference = dd.sweep(model, 1.0, step=1e-3, **options)[name].values
    errors = [
        np.sqrt(np.mean((dd.sweep(model, 1.0, step=step, **options)[name].values - reference) ** 2))
        for step in (0.05, 0.02, 0.01)
    ]
    order = np.log(errors[0] / errors[2]) / np.log(5)
    assert 0.8 < order < 1.3


@pytest.mark.parametrize(("method", "order"), [("heun", 1), ("rk4", 2)])
def test_strong_and_weak_order_on_geometric_motion(method, order):
    """exp(drift t + spread W) is exact on every path; the local error (spread ΔW)^(p + 1) gives both orders p / 2 and
    (p + 1) / 2 rounded up: one by Heun's method, as Milstein's, two by one step of order four."""
    strong, weak = [], []
    for step in (0.1, 0.02):
        options = {"step": step, "method": method, "save_at": "end", "on": "cpu"}
        en = dd.sweep(geometric(spread=0.4), 1.0, seeds=2000, **options)
        off = en["x"].values - np.exp(0.5 - 0.5 * 0.4**2 + 0.4 * en["path"].values)
        strong.append(np.sqrt(np.mean(off**2)))
        weak.append(abs(off.mean()))
    for errors in (strong, weak):
        assert np.log(errors[0] / errors[1]) / np.log(5) == pytest.approx(order, abs=0.25)


def test_ito_drift_survives_a_reduction():
    """A damper whose coefficient is noise, on a mass: <v> stays as it is in the sense of Itô."""
    m = dd.Model("mass")
    q = m.coordinate("q", start=0.0, rate=1.0)
    m.kinetic_energy(0.5 * m.rate(q) ** 2)
    m.force(m.noise("w", 1.0) * m.rate(q), at=q)
    moved = with_ito_drift(m.freeze())
    reduced = dd.reduce(moved).freeze()
    values = {"q_ddot": 3.0, "q_dot": 2.0, "w": 0.5}
    for system in (moved, reduced):
        rows = [float(value) for value in np.ravel(residual_at(system, values)) if abs(float(value)) > 1e-12]
        assert rows == [pytest.approx(3.0 + 0.5 * 2.0 - 0.5 * 2.0)]


def residual_at(system, values):
    vectors = [np.zeros(system.sizes.get(letter, 1)) for letter in ("t", "xdot", "x", "z", "u", "p")]
    for name, value in values.items():
        place = system.place(name)
        vectors[("t", "xdot", "x", "z", "u", "p").index(place.letter)][place.positions] = value
    vectors[1][system.place("q").positions] = values["q_dot"]
    return ca.Function("residual", system.symbols(), [system.residual])(*vectors).full()


def test_a_stiff_follower_takes_the_steps_of_its_noise():
    """A state that follows noisy motion within 1e-5 s: implicit methods take one step for each value of the noise."""
    m = dd.Model("follower")
    y, x, w = m.state("y", start=0.0), m.state("x", start=0.0), m.noise("w", 1.0)
    m.equation(m.der(y), -y + w)
    m.equation(m.der(x), 1e5 * (y - x))
    tr = dd.simulate(m, 5.0, step=0.05, seed=1, method="radau5")
    assert tr.work.steps == 100
    assert np.abs(tr["x"] - tr["y"]).max() < 1e-3
    alone = dd.simulate(ornstein_uhlenbeck(), 5.0, step=0.05, seed=1)
    assert tr["y"] == pytest.approx(alone["x"], abs=1e-5)


@pytest.mark.parametrize(("intensity", "rate"), [(1.0, 1.0), (0.2, 10.0)])
def test_the_variance_settles(intensity, rate):
    options = {"seeds": 2000, "step": 0.05 / rate, "save_at": "end", "method": "rk4"}
    values = dd.sweep(ornstein_uhlenbeck(intensity, rate), 6.0 / rate, **options)
    variance, exact = float(values["x"].var()), intensity / (2 * rate)
    assert abs(variance / exact - 1) < 5 * np.sqrt(2 / 2000)
    assert dd.covariance(dd.linearise(ornstein_uhlenbeck(intensity, rate)), intensity)[0, 0] == pytest.approx(exact)


def test_neighbouring_times_correlate():
    tr = dd.simulate(ornstein_uhlenbeck(), 4000.0, step=0.1, seed=2, method="rk4")
    x = tr["x"][100:]
    assert np.mean(x[:-10] * x[10:]) / np.mean(x**2) == pytest.approx(np.exp(-1.0), abs=0.05)


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("cut", [0.5, 0.53])
def test_two_joined_runs_meet_the_noise_of_one(seed, cut):
    model = pushed_pendulum()
    options = {"step": 0.05, "seed": seed, "rtol": 1e-10}
    whole = dd.simulate(model, 2.0, **options)
    first = dd.simulate(model, cut, **options)
    second = dd.simulate(model, (cut, 2.0), start=first.end, **options)
    assert float(second["a"][-1]) == pytest.approx(float(whole["a"][-1]), rel=1e-8)


def test_a_path_is_that_of_its_seed_and_name():
    one = ornstein_uhlenbeck()
    other = ornstein_uhlenbeck()
    y, v = other.state("y", start=0.0), other.noise("v", 2.0)
    other.equation(other.der(y), -y + v)
    a, b = (dd.simulate(m, 1.0, step=0.1, seed=4, rtol=1e-10)["x"] for m in (one, other))
    assert a == pytest.approx(b, abs=1e-9)
    assert dd.simulate(one, 1.0, step=0.1, seed=5)["x"][-1] != a[-1]
    fresh = [dd.simulate(one, 1.0, step=0.1, seed=None)["x"][-1] for _ in range(2)]
    assert fresh[0] != fresh[1]


def test_without_a_step_halving_changes_little():
    tr = dd.simulate(pushed_pendulum(), 2.0, seed=1)
    finer = dd.simulate(pushed_pendulum(), 2.0, seed=1, step=1e-4)
    assert tr.at([0.7, 2.0])["a"] == pytest.approx(finer.at([0.7, 2.0])["a"], abs=2e-3)
    (drawn,) = records_of(tr, NoiseDrawn)
    assert 0 < drawn.change <= 1e-3


@pytest.mark.parametrize("make", [multiplied, pushed_pendulum])
def test_runs_with_any_steps_follow_one_path(make):
    """A thousand, 1024 and 3000 steps, few steps, and steps that are found, at the times that all have in common."""
    name, times, whole = make().freeze().labels["x"][0], np.linspace(0.25, 2.0, 8), 2e-3
    run = dd.simulate(make(), 2.0, step=whole, seed=7)
    first = run.at(times)[name]
    for step in (2 / 1024, 2 / 3000, 2 / 200, 2 / 24):
        other = dd.simulate(make(), 2.0, step=step, seed=7).at(times)[name]
        assert other == pytest.approx(first, abs=0.6 * max(step, whole))
    adaptive = dd.simulate(make(), 2.0, seed=7).at(times)[name]
    assert adaptive == pytest.approx(first, abs=5e-3)
    assert first != pytest.approx(dd.simulate(make(), 2.0, step=whole, seed=8).at(times)[name], abs=0.05)


def two_noises(coupled):
    """dx = dW, dy = x dV or dy = dV: only the first depends on the order of pushes."""
    m = dd.Model("two noises")
    x, y, w, v = m.state("x", start=0.0), m.state("y", start=0.0), m.noise("w"), m.noise("v")
    m.equation([m.der(x), m.der(y)], [w, x * v if coupled else v])
    return m


@pytest.mark.parametrize("coupled", [True, False])
def test_noises_whose_order_matters_are_told(coupled):
    tr = dd.simulate(two_noises(coupled), 1.0, step=0.1, seed=0)
    (drawn,) = records_of(tr, NoiseDrawn)
    assert drawn.commutes == (not coupled)
    assert ("order of pushes" in str(drawn)) == coupled


def test_constraints_are_kept():
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[1, 0], rate=[0, 0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", ca.sumsqr(p) - 1)
    m.force(m.noise("w", 0.1, 2), at=p)
    tr = dd.simulate(m, 1.0, step=0.02, seed=1)
    assert tr.success
    assert np.abs((tr["p"] ** 2).sum(axis=1) - 1).max() < 1e-9
    other = dd.simulate(m, 1.0, step=0.02, seed=1, method="radau5")
    assert other["p"][-1] == pytest.approx(tr["p"][-1], abs=1e-4)


def test_parts_are_driven_by_noise():
    """White noise of a source through RC: q / (2 RC)."""
    C = dd.components.electrical
    m = dd.Model("rc")
    source = m.add(C.VoltageSource("source", voltage=m.noise("w", 1e-6)))
    r, c, ground = (
        m.add(C.Resistor("r", resistance=1e3)), m.add(C.Capacitor("c", capacitance=1e-6)), m.add(C.Ground("ground")),
    )  # fmt: skip
    m.connect(source.plus, r.plus)
    m.connect(r.minus, c.plus)
    m.connect(c.minus, source.minus, ground.pin)
    tr = dd.simulate(m, 2.0, step=1e-4, start={"c.voltage": 0.0}, method="rk4")
    assert float(np.var(tr["c.voltage"][100:])) == pytest.approx(1e-6 / 2e-3, rel=0.15)


def test_sampled_noise_holds_its_values():
    m = dd.Model("sensor")
    x, e = m.state("x", start=0.0), m.sampled_noise("e", 4.0, 2, every=0.25)
    m.equation(m.der(x), e[0])
    tr = dd.simulate(m, 200.0, seed=3)
    values = tr.at(np.arange(0.1, 200.0, 0.25))["e"]
    assert values.var(axis=0) == pytest.approx([4.0, 4.0], rel=0.25)
    assert abs(np.corrcoef(values.T)[0, 1]) < 0.2
    assert tr.at(0.3)["e"].tolist() == tr.at(0.49)["e"].tolist() != tr.at(0.51)["e"].tolist()
    joined = dd.simulate(m, (100.1, 200.0), start=tr.at(100.1), seed=3)
    assert float(joined["x"][-1]) == pytest.approx(float(tr["x"][-1]), abs=1e-6)


def test_noise_that_is_given_is_not_drawn():
    model = ornstein_uhlenbeck()
    assert np.all(dd.simulate(model, 1.0, inputs={"w": 0.0})["x"] == 0.0)
    assert float(dd.equilibrium(model)["x"]) == 0.0
    assert dd.linearise(model).B.tolist() == [[1.0]]


def test_models_and_runs_with_noise_travel(tmp_path):
    tr = dd.simulate(geometric("stratonovich"), 1.0, step=0.1, seed=3)
    tr.save(tmp_path / "run.nc")
    loaded = dd.load(tmp_path / "run.nc")
    assert loaded.notes == tr.notes
    assert np.array_equal(loaded["x"], tr["x"])
    again = dd.simulate(loaded.system, 1.0, step=0.1, seed=4)
    assert again["x"][-1] == dd.simulate(geometric("stratonovich"), 1.0, step=0.1, seed=4)["x"][-1]


def squared():
    m = ornstein_uhlenbeck()
    y, v = m.state("y", start=0.0), m.noise("v")
    m.equation(m.der(y), ca.sin(v))
    return m


def through(law):
    """Noise that reaches a state through an algebraic variable."""
    m = ornstein_uhlenbeck()
    x, v = m.state("position", start=0.0), m.noise("v")
    z = m.algebraic("z", start=0.0)
    m.equation(law(z), x + v)
    m.equation(m.der(x), -z)
    return m


def cubed():
    m = ornstein_uhlenbeck()
    x = m.state("position", start=0.0)
    m.equation(m.der(x) + m.der(x) ** 3, -x + m.noise("v"))
    return m


@pytest.mark.wide
def test_noise_through_linear_equations_is_noise():
    """x' = -(x + v) / 2: the variance q / 4 · (1 - exp(-t)), whatever the step."""
    for step in (0.1, 0.025):
        en = dd.sweep(through(lambda z: 2 * z), 3.0, seeds=800, step=step, method="rk4", save_at="end")
        exact = 0.25 * (1 - np.exp(-3.0))
        assert float(en["position"].var()) == pytest.approx(exact, rel=4 * np.sqrt(2 / 800))


def differentiated():
    m = dd.Model("pushed")
    x, y, w = m.state("x"), m.state("y"), m.noise("w")
    m.equation(m.der(x), y)
    m.equation(x, w)
    return m


def redrawn():
    random = np.random.default_rng(0)
    m = dd.Model("drawn")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), u)
    dd.simulate(m, 1.0, inputs={"u": lambda t: float(random.normal())})


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: dd.simulate(squared(), 1.0, step=0.1),
            InputError,
            "noise v does not enter the equations linearly",
        ),
        *(
            (
                lambda law=law: dd.simulate(through(law), 1.0, step=0.1),
                InputError,
                "noise v does not act on the states linearly",
            )
            for law in (lambda z: z + 0.1 * z**3, lambda z: ca.sinh(z), lambda z: z + 0.1 * ca.fabs(z) * z)
        ),
        (lambda: dd.simulate(cubed(), 1.0, step=0.1), InputError, "noise v does not act on the states linearly"),
        (
            lambda: dd.simulate(differentiated(), 1.0, step=0.1),
            InputError,
            "appears in a constraint that is differenti",
        ),
        (lambda: dd.simulate(ornstein_uhlenbeck(), (1.0, 0.0)), InputError, "must go forward in time"),
        (lambda: dd.simulate(ornstein_uhlenbeck(), 1.0, step=-1.0), InputError, "step must be a positive number"),
        (lambda: dd.simulate(ornstein_uhlenbeck(), 1.0, step="a"), InputError, "step must be a positive number"),
        (lambda: dd.sweep(ornstein_uhlenbeck(), 1.0, seeds=2, step=0.0), InputError, "step must be a positive number"),
        (lambda: dd.simulate(ornstein_uhlenbeck(), 1.0, seed=-1), InputError, "-1 is not a seed"),
        (lambda: dd.simulate(ornstein_uhlenbeck(), 1.0, seed=1.5), InputError, "1.5 is not a seed"),
        (
            lambda: dd.simulate(ornstein_uhlenbeck(), (1e18, 2e18), step=1e15),
            InputError,
            "would be drawn at t = 2e\\+18",
        ),
        (lambda: dd.simulate(ornstein_uhlenbeck(), 1.0, step=1e-9), InputError, "would take 1e\\+09 values"),
        (lambda: ornstein_uhlenbeck(-1.0), ModelError, "The intensity of w is negative"),
        (lambda: dd.Model().noise("w", ca.SX.sym("q")), ModelError, "The intensity of w is an expression"),
        (lambda: dd.Model().noise("w", [1.0, 2.0], 3), ModelError, "wrong shape"),
        (lambda: dd.Model().noise("w", calculus="other"), ModelError, "not a calculus of noise"),
        (lambda: dd.Model().sampled_noise("w", every=0.0), ModelError, "not a time between two values"),
        (redrawn, InputError, "gives two values for one time"),
        (lambda: dd.sweep(ornstein_uhlenbeck(), 1.0, seeds=0, step=0.1), InputError, "seeds=0 is not valid"),
    ],
)
def test_wrong_uses_are_told(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_seeds_of_a_model_without_noise_are_told():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    with pytest.raises(DaedalusError, match="seeds= is for models with noise"):
        dd.sweep(m, 1.0, seeds=3)


def variance_of_a_price(root):
    """The variance of S. L. Heston (1993) where it reaches zero: 2 k m < s²."""
    m = dd.Model("variance")
    V = m.state("V", start=0.04)
    m.equation(m.der(V), 1.5 * (0.04 - V) + 0.6 * root(V) * m.noise("w"))
    return m


def test_paths_that_leave_a_formula_tell_how_to_go_on():
    m = variance_of_a_price(ca.sqrt)
    fact, remedy = (
        "noise may take states where sqrt(V) is not defined",
        "ca.if_else(V > 0, ca.sqrt(V), 0.0) in its place",
    )
    stop = dd.simulate(m, 1.0, step=0.01, seed=2, method="rk4").stop
    assert (stop.facts, stop.remedy) == ((fact,), remedy)
    en = dd.sweep(m, 1.0, seeds=20, step=0.01, method="rk4", save_at="end")
    assert en.notes[-1] == f"{len(en.failed)} cases ended early: {fact}; try {remedy}"


@pytest.mark.wide
def test_the_remedy_has_the_mean_of_the_equation():
    m = variance_of_a_price(lambda V: ca.if_else(V > 0, ca.sqrt(V), 0.0))
    en = dd.sweep(m, 1.0, seeds=1000, step=0.02, method="rk4", save_at="end")
    values = en["V"].values
    assert en.success.all()
    assert values.mean() == pytest.approx(0.04, abs=4 * values.std() / np.sqrt(1000))
    # <V²> - <V>² = m s² / (2 k) (1 - exp(-2 k t)) from V = m on.
    assert values.var() == pytest.approx(0.04 * 0.36 / 3.0 * (1 - np.exp(-3.0)), rel=0.2)
