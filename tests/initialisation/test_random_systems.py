"""Random linear DAEs with known index: every start satisfies the derivative array, whatever was given."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd


def random_system(seed: int, slow: int, chains: list[int]):
    """E x' = A x + b t + c with `slow` finite modes and nilpotent chains, mixed by random regular matrices."""
    draw = np.random.default_rng(seed)
    n = slow + sum(chains)
    e, a = np.zeros((n, n)), np.eye(n)
    e[:slow, :slow], a[:slow, :slow] = np.eye(slow), draw.standard_normal((slow, slow))
    first = slow
    for length in chains:
        e[first : first + length - 1, first + 1 : first + length] = np.eye(length - 1)
        first += length
    left, right = (np.eye(n) + 0.3 * draw.standard_normal((n, n)) / np.sqrt(n) for _ in range(2))
    rate, constant = draw.standard_normal(n), draw.standard_normal(n)
    return left @ e @ right, left @ a @ right, rate, constant, right, left


def exact(seed: int, slow: int, chains: list[int], x_slow: np.ndarray, t: float):
    """x and x' of the Weierstrass form: N f' = f + g has the solution f = -Σ Nᵏ g^(k)."""
    e, a, rate, constant, right, left = random_system(seed, slow, chains)
    g = np.linalg.solve(left, rate * t + constant)
    g_rate = np.linalg.solve(left, rate)
    n = len(g)
    nilpotent = (np.linalg.inv(left) @ e @ np.linalg.inv(right))[slow:, slow:]
    fast = -g[slow:] - nilpotent @ g_rate[slow:]
    modes = (np.linalg.inv(left) @ a @ np.linalg.inv(right))[:slow, :slow]
    y, y_rate = np.zeros(n), np.zeros(n)
    y[:slow], y[slow:] = x_slow, fast
    y_rate[:slow], y_rate[slow:] = modes @ x_slow + g[:slow], -g_rate[slow:]
    return np.linalg.solve(right, y), np.linalg.solve(right, y_rate)


@settings(max_examples=examples(25), deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 3),
    st.lists(st.integers(1, 3), min_size=0, max_size=2).filter(lambda chains: sum(chains) <= 4),
)
def test_guesses_become_the_nearest_consistent_start(seed, slow, chains):
    if slow + sum(chains) == 0:
        return
    e, a, rate, constant, right, _ = random_system(seed, slow, chains)
    n, t = len(a), 0.7
    m = dd.Model("random")
    x = m.state("x", n)
    m.equation(e @ m.der(x), a @ x + rate * m.time + constant)
    s = dd.initialise(m, time=t)
    values, rates = s["x"], s.der("x")
    slow_part = (right @ values)[:slow]
    expected, expected_rates = exact(seed, slow, chains, slow_part, t)
    np.testing.assert_allclose(values, expected, atol=1e-6)
    np.testing.assert_allclose(rates, expected_rates, atol=1e-6)
    assert len(s.free) == slow
    # Nothing nearer to the guess of zero is consistent: the change is orthogonal to the free directions.
    directions = np.linalg.inv(right)[:, :slow]
    np.testing.assert_allclose(directions.T @ values, 0.0, atol=1e-6)


@settings(max_examples=examples(25, 4), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3))
def test_a_consistent_start_given_in_full_is_accepted_and_one_beside_it_refused(seed, slow, chain):
    e, a, rate, constant, _, _ = random_system(seed, slow, [chain])
    draw = np.random.default_rng(seed + 1)
    values, rates = exact(seed, slow, [chain], draw.standard_normal(slow), 0.0)
    m = dd.Model("random")
    x = m.state("x", len(a), start=values)
    m.equation(e @ m.der(x), a @ x + rate * m.time + constant)
    s = dd.initialise(m)
    assert s["x"].tolist() == values.tolist()
    np.testing.assert_allclose(s.der("x"), rates, atol=1e-6)
    beside = values + draw.uniform(0.5, 1.0, len(values))
    with pytest.raises(dd.InconsistentStartError, match="disagree by") as caught:
        dd.initialise(m, {"x": beside})
    assert caught.value.remedy.startswith("free=[")
