"""Designs of experiments against known optima."""

from itertools import combinations, pairwise

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.estimation.sample_times import SampleSearch


def test_a_decay_is_measured_after_its_time_constant():
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 2.0)
    m.equation(m.der(x), -k * x)
    for criterion in ("D", "A"):
        found = dd.design(m, 2.0, ["k"], samples=1, candidates=201, criterion=criterion, noise=0.1)
        assert found.times == pytest.approx([0.5])
        # ∂x/∂k = −t exp(−k t) at its largest.
        assert found.std["k"] == pytest.approx(0.1 / (0.5 * np.exp(-1.0)), rel=1e-5)


def test_slope_and_curvature_of_a_line_are_told_by_its_middle_and_end():
    m = dd.Model("parabola")
    x, a, b = m.state("x", start=0.0), m.parameter("a", 1.0), m.parameter("b", 1.0)
    m.equation(m.der(x), a + b * m.time)
    # det of (t, t²/2) at two times, t₁ t₂ (t₂ − t₁) / 2, is largest for t₂ = 1 and t₁ = 1/2.
    assert dd.design(m, 1.0, ["a", "b"], samples=2).times == pytest.approx([0.5, 1.0])


def test_the_input_that_tells_more_is_chosen():
    m = dd.Model("gain")
    x, g, u = m.state("x", start=0.0), m.parameter("g", 1.0), m.input("u")
    m.equation(m.der(x), g * u - x)
    found = dd.design(m, 1.0, ["g"], inputs=[{"u": 0.1}, {"u": 2.0}, {"u": 1.0}], samples=3)
    assert (found.choice, found.inputs) == (1, {"u": 2.0})
    with pytest.raises(dd.InputError, match="criterion='E' is not valid"):
        dd.design(m, 1.0, ["g"], inputs={"u": 1.0}, criterion="E")


def test_the_input_itself_is_chosen():
    """The gain of an integrator is told by an input that never changes its sign, that of a lag by one that does."""
    m = dd.Model("integrator")
    x, g, u = m.state("x", start=0.0), m.parameter("g", 1.0), m.input("u")
    m.equation(m.der(x), g * u)
    best = dd.design(m, 1.0, ["g"], inputs={"u": dd.unknown(0.0, -1.0, 2.0)}, samples=1, intervals=4)
    assert best.inputs["u"].values.ravel().tolist() == [2.0] * 4
    assert best.std["g"] == pytest.approx(0.5)
    assert dd.simulate(m, 1.0, inputs=best.inputs).at(1.0)["x"] == pytest.approx(2.0)


def test_a_chosen_input_is_better_than_a_step_and_keeps_to_its_bounds():
    m = dd.Model("oscillator")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    stiffness, damping = m.parameter("stiffness", 4.0), m.parameter("damping", 0.4)
    m.equation([m.der(x), m.der(v)], [v, u - stiffness * x - damping * v])
    step = dd.design(m, 6.0, ["stiffness", "damping"], inputs={"u": 1.0}, outputs="x", samples=6)
    found = dd.design(
        m, 6.0, ["stiffness", "damping"], inputs={"u": dd.unknown(0.0, -1.0, 1.0)}, outputs="x", samples=6, intervals=6
    )
    assert found.score > step.score + 1.0
    assert set(found.inputs["u"].values.ravel().tolist()) <= {-1.0, 0.0, 1.0}


def test_an_input_without_bounds_is_refused():
    m = dd.Model("gain")
    x, g, u = m.state("x", start=0.0), m.parameter("g", 1.0), m.input("u")
    m.equation(m.der(x), g * u - x)
    with pytest.raises(dd.InputError, match="The input u needs bounds to be chosen"):
        dd.design(m, 1.0, ["g"], inputs={"u": dd.unknown(0.0)})


def products(seed: int) -> tuple[dd.Model, list[str], list[str]]:
    """A model of some parameters of which only products, quotients or sums are seen, and which are known."""
    random = np.random.default_rng(seed)
    m = dd.Model("hidden")
    value = {n: m.parameter(n, v) for n, v in zip("abcd", random.choice([-1, 1], 4) * random.uniform(0.3, 3.0, 4))}
    x, y = m.state("x", start=1.0), m.state("y", start=float(random.uniform(0.5, 2.0)))
    hidden = [value["a"] * value["b"], value["a"] / value["b"], value["a"] + 2 * value["b"]][seed % 3]
    m.equation([m.der(x), m.der(y)], [-0.3 * hidden * x, value["c"] * x - y])
    return m, ["a", "b", "d"], ["c"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("criterion", ["D", "A"])
def test_unseen_directions_are_infinite_as_in_a_fit(seed, criterion):
    m, unseen, seen = products(seed)
    found = dd.design(m, 2.0, list("abcd"), samples=7, noise=0.1, criterion=criterion)
    assert all(np.isinf(found.std[name]) for name in unseen)
    assert all(np.isfinite(found.std[name]) for name in seen)
    assert found.score == -np.inf
    told = dd.simulate(m, 2.0, save_at=found.times)
    data = {"time": np.append(0.0, found.times), **{n: np.append(np.nan, told[n]) for n in ("x", "y")}}
    fitted = dd.fit(m, data, list("abcd"), noise=0.1)
    assert sorted(map(str, fitted.unidentifiable)) == sorted(map(str, found.unidentifiable))
    assert found.std["c"] == pytest.approx(fitted.std["c"], rel=1e-3)
    assert "d changes nothing that is measured" in repr(found)


@pytest.mark.parametrize("criterion", ["D", "A"])
@pytest.mark.parametrize("alternatives", [{"u": 0.0}, [{"u": 0.0}, {"u": 1.0}]])
def test_an_experiment_that_moves_nothing_tells_nothing(criterion, alternatives):
    m = dd.Model("at rest")
    x, a, b, u = m.state("x", start=0.0), m.parameter("a", 1.0), m.parameter("b", 2.0), m.input("u")
    m.equation(m.der(x), -a * x + b * u)
    found = dd.design(m, 2.0, ["a", "b"], inputs=alternatives, criterion=criterion)
    moved = isinstance(alternatives, list)
    assert all(np.isfinite(found.std[name]) == moved for name in "ab")
    assert (found.score > -np.inf) == moved


def test_fewer_samples_than_unknowns_leave_something_unseen():
    m = dd.Model("parabola")
    x, a, b = m.state("x", start=0.0), m.parameter("a", 1.0), m.parameter("b", 1.0)
    m.equation(m.der(x), a + b * m.time)
    one = dd.design(m, 1.0, ["a", "b"], samples=1)
    assert one.std == {"a": np.inf, "b": np.inf}
    assert [str(each) for each in dd.design(m, 1.0, ["a", "b"], samples=2).unidentifiable] == []


def best_of_all(parts, count, apart, criterion):
    """The best score of all sets of samples that are far enough from each other."""
    rows = [c for c in combinations(range(len(parts)), count) if all(b - a >= apart for a, b in pairwise(c))]
    whole = [parts[list(c)].sum(axis=0) for c in rows]
    if criterion == "D":
        return max(np.linalg.slogdet(F)[1] for F in whole)
    return max(-np.trace(np.linalg.inv(F)) for F in whole)


@pytest.mark.wide
def test_samples_keep_their_distance_and_tell_nearly_as_much_as_the_best_of_all():
    random, short = np.random.default_rng(2), []
    for _ in range(40):
        n, count, apart = random.integers(1, 4), int(random.integers(3, 5)), int(random.integers(1, 5))
        times = np.linspace(0.0, 3.0, 16)[:, None, None]
        rates, phases = random.uniform(0.2, 4.0, (1, 2, n)), random.uniform(0, 6, (1, 2, n))
        slopes = np.exp(-rates * times / 4) * np.sin(rates * times + phases)
        parts = np.einsum("tri,trj->tij", slopes, slopes)
        for criterion in ("D", "A"):
            chosen, score = SampleSearch(parts, count, criterion, apart).best()
            assert len(chosen) == count
            assert np.diff(chosen).min() >= apart
            short.append(
                (best_of_all(parts, count, apart, criterion) - score) / (n if criterion == "D" else abs(score))
            )
    # Exchanges end in a local optimum now and then, which is hardly worse.
    assert np.mean(np.array(short) > 1e-5) < 0.05
    assert max(short) < 0.02


def test_samples_that_block_each_other_are_shifted_side_by_side():
    """One sample at a time, and the best linear change of all, ended at 2.4 % more than the smallest variance."""
    random = np.random.default_rng(11)
    A = random.normal(size=(2, 2))
    A -= (np.linalg.eigvals(A).real.max() + 0.3) * np.eye(2)
    m = dd.Model("two")
    p = [m.parameter(f"p{k}", value) for k, value in enumerate(random.uniform(0.5, 2, 2))]
    x = m.state("x", 2, start=random.normal(size=2))
    rates = [A[0, 0] * p[0] * x[0] + A[0, 1] * x[1], A[1, 0] * x[0] + A[1, 1] * p[1] * x[1]]
    m.equation(m.der(x), ca.vertcat(*rates))
    m.output("y", x[0])
    span = float(random.uniform(2, 5))
    found = dd.design(
        m, span, ["p0", "p1"], outputs=["y"], samples=3, candidates=31, spacing=0.096 * span, criterion="A", noise=0.1
    )
    times = np.linspace(0, span, 31)
    slopes = dd.sensitivities(m, span, wrt=["p0", "p1"]).at(times)
    values = [float(m.variables[name].start[0]) for name in ("p0", "p1")]
    rows = np.stack([slopes.d("y", f"p{k}") * values[k] for k in range(2)], axis=1) / 0.1
    best = best_of_all(rows[:, :, None] * rows[:, None, :], 3, 3, "A")
    assert found.score == pytest.approx(best, rel=1e-4)


def test_one_unknown_has_the_best_samples_at_any_distance():
    """The information of one unknown is a sum, and the best sum is found exactly."""
    random = np.random.default_rng(4)
    for _ in range(20):
        parts, apart = random.uniform(0, 1, (14, 1, 1)), int(random.integers(1, 5))
        _, score = SampleSearch(parts, 3, "D", apart).best()
        assert score == pytest.approx(best_of_all(parts, 3, apart, "D"), abs=1e-6)


def test_spacing_that_does_not_fit_is_refused():
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 2.0)
    m.equation(m.der(x), -k * x)
    with pytest.raises(dd.InputError, match="5 samples do not fit") as caught:
        dd.design(m, 2.0, ["k"], samples=5, spacing=0.6)
    assert caught.value.because == "they need 2.4 s."
    with pytest.raises(dd.InputError, match="5 samples do not fit") as caught:
        dd.design(m, 2.0, ["k"], samples=5, spacing=0.49, candidates=11)
    assert caught.value.because == "the candidates are too few for this spacing."
    again = int(caught.value.remedy.split("=")[1])
    found = dd.design(m, 2.0, ["k"], samples=5, spacing=0.49, candidates=again)
    assert np.diff(found.times).min() >= 0.49 - 1e-12
    packed = dd.design(m, 2.0, ["k"], samples=5, spacing=0.5, candidates=5)
    assert packed.times == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0])
    for wrong in (-1.0, np.nan, "soon"):
        with pytest.raises(dd.InputError, match="spacing"):
            dd.design(m, 2.0, ["k"], spacing=wrong)
    with pytest.raises(dd.InputError, match="noise of x must be positive"):
        dd.design(m, 2.0, ["k"], noise=0.0)


def hidden(seed: int) -> tuple[dd.Model, list[str], dict[str, float], set[str], int]:
    """Parameters of any size of which some combinations are seen, in outputs of any noise: the blind ones, how many."""
    random = np.random.default_rng(seed)
    combinations_seen = int(random.integers(1, 4))
    n = int(random.integers(combinations_seen, combinations_seen + 3))
    values = random.choice([-1, 1], n) * random.uniform(0.3, 3, n) * 10.0 ** random.uniform(-6, 6, n)
    m = dd.Model("hidden")
    share = [m.parameter(f"p{k}", float(value)) / float(value) for k, value in enumerate(values)]
    slopes, rates = np.zeros((combinations_seen, n)), []
    for row in slopes:
        own = random.choice(n, int(random.integers(1, min(n, 3) + 1)), replace=False)
        size, rate = float(random.uniform(0.3, 2)), 1.0
        if random.random() < 0.7:
            row[own] = random.choice([-2, -1, 1, 2], len(own))
            for k in own:
                rate = rate * share[k] ** int(row[k])
        else:
            row[own] = random.uniform(0.5, 2, len(own))
            rate = 1 + sum(row[k] * (share[k] - 1) for k in own)
        rates.append(size * rate)
    x, y, w = (m.state(name, start=start) for name, start in (("x", 1.0), ("y", 0.5), ("w", 0.2)))
    one, two, three = (*rates, 0.7, 0.9, 0.4)[:3]
    late = ca.if_else(m.time > 0.8, three, 0.0) if seed % 2 else three
    m.equation([m.der(x), m.der(y), m.der(w)], [-one * x, x + ca.sin(m.time) - two * y, y * late - 0.3 * w])
    gain, s = m.parameter("gain", 2.0), m.state("s", start=1.5)
    m.equation(m.der(s), -0.5 * s)
    m.output("product", gain * s)
    rank = np.linalg.matrix_rank(slopes)
    null = np.linalg.svd(slopes)[2][rank:]
    blind = {f"p{k}" for k in range(n) if np.abs(null[:, k]).max(initial=0.0) > 1e-9} | {"gain", "s"}
    noise = {name: float(10.0 ** random.uniform(-8, 6)) for name in ("x", "y", "w", "product")}
    return m, [f"p{k}" for k in range(n)] + ["gain", "s"], noise, blind, n - rank + 1


@pytest.mark.parametrize("seed", range(8))
def test_what_is_seen_depends_on_no_unit_and_no_noise(seed):
    m, free, noise, blind, count = hidden(seed)
    found = dd.design(m, 3.0, free, outputs=list(noise), noise=noise, samples=8, criterion="DA"[seed % 2])
    assert {name for name, std in found.std.items() if np.isinf(std)} == blind
    assert len(found.unidentifiable) == count
    assert {name for each in found.unidentifiable for name in each.names} == blind
    assert any(str(each) in ("only gain · s is seen", "only s · gain is seen") for each in found.unidentifiable)


@pytest.mark.parametrize("ratio", [1.0, 1e5, 1e10])
def test_an_output_of_large_noise_still_tells_something(ratio):
    """Two decays, each seen by an output of its own; and their product and quotient, seen by both."""
    for write in (lambda a, b: (a, b), lambda a, b: (a * b, a / b)):
        m = dd.Model("two")
        x, y, a, b = m.state("x", start=1.0), m.state("y", start=1.0), m.parameter("a", 1.0), m.parameter("b", 1.0)
        first, second = write(a, b)
        m.equation([m.der(x), m.der(y)], [-first * x, -second * y])
        found = dd.design(m, 2.0, ["a", "b"], noise={"x": 1e-3, "y": 1e-3 * ratio}, samples=1, candidates=3)
        # One sample at t = 1 of exp(-rate t) each.
        assert found.times.tolist() == [1.0]
        by_rates = np.array([1e-3, 1e-3 * ratio]) * np.e
        both = np.hypot(*by_rates) / 2
        expected = by_rates if write(2.0, 3.0) == (2.0, 3.0) else [both, both]
        assert [found.std["a"], found.std["b"]] == pytest.approx(list(expected), rel=1e-6)
        assert found.score == pytest.approx(-2 * np.log(by_rates).sum() + (2 * np.log(2) if both == expected[0] else 0))


def test_what_only_rounding_sees_is_not_seen():
    m = dd.Model("circle")
    x, y, speed, gain = (
        m.state("x", start=1.0),
        m.state("y", start=0.3),
        m.parameter("speed", 2.0),
        m.parameter("g", 1.0),
    )
    m.equation([m.der(x), m.der(y)], [speed * y, -speed * x])
    m.output("radius", gain * (x * x + y * y))
    found = dd.design(m, 5.0, ["speed", "g"], outputs="radius", noise=1e-6)
    assert [str(each) for each in found.unidentifiable] == ["speed changes nothing that is measured"]
    assert np.isfinite(found.std["g"])


def test_products_of_several_are_named():
    m = dd.Model("products")
    x, y = m.state("x", start=1.0), m.state("y", start=1.0)
    a, b, c, d, e, f = (m.parameter(name, value) for name, value in zip("abcdef", (1.0, 2.0, 3.0, -0.5, 1.5, 0.3)))
    m.equation([m.der(x), m.der(y)], [-a * b * x, 0.1 * c / d**2 * e * y + f])
    found = dd.design(m, 2.0, list("abcdef"))
    assert [str(each) for each in found.unidentifiable] == ["only a · b is seen"] + ["only c · e / d² is seen"] * 2
    assert repr(found).count("is seen") == 2
