"""Quadrature along a run under error control: the estimate covers the error, whatever the integrand does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus.simulation.energy.energy_quadrature import BUDGET_OF_CALLS, LONG, SHORT, Rule, integral


@settings(max_examples=examples(20), deadline=None)
@given(st.floats(0.1, 300.0), st.floats(0.0, 6.0), st.floats(0.01, 5.0))
def test_a_sine_of_any_frequency(frequency: float, phase: float, duration: float) -> None:
    w = 2 * np.pi * frequency
    found = integral(lambda t: np.sin(w * t + phase)[:, None] ** 2, np.array([0.0]), np.array([duration]))
    exact = duration / 2 - (np.sin(2 * (w * duration + phase)) - np.sin(2 * phase)) / (4 * w)
    assert abs(found.value[0] - exact) <= found.error[0] + 1e-12 * duration
    assert found.error[0] <= 1e-8 * duration


def test_spans_that_run_backwards_count_negative() -> None:
    found = integral(lambda t: np.exp(t)[:, None], np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    assert found.value[0] == pytest.approx(1 - np.exp(2.0), rel=1e-12)


def test_jumps_that_nothing_tells_are_closed_in_on_and_their_rest_is_told() -> None:
    calls = []

    def wave(t: np.ndarray) -> np.ndarray:
        calls.append(len(t))
        return (np.floor(137.0 * t) % 2)[:, None]

    found = integral(wave, np.array([0.0]), np.array([1.0]), BUDGET_OF_CALLS)
    assert abs(found.value[0] - 68 / 137) <= found.error[0] + 1e-12
    assert found.error[0] < 1e-3
    assert sum(calls) < BUDGET_OF_CALLS + 15 * 300


@pytest.mark.parametrize(("rule", "degree"), [(SHORT, 11), (LONG, 22)])
def test_the_rules_have_the_degrees_of_their_tables(rule: Rule, degree: int) -> None:
    for k in range(degree + 1):
        exact = 0.0 if k % 2 else 2 / (k + 1)
        assert rule.kronrod @ rule.nodes**k == pytest.approx(exact, abs=1e-15)
        if k <= len(rule.nodes) - 2:
            assert rule.gauss @ rule.nodes**k == pytest.approx(exact, abs=1e-15)
        if k < len(rule.nodes):
            assert rule.to_end @ rule.nodes**k == pytest.approx(1.0, abs=1e-12)
