"""Which parameters matter, and which can be told apart."""

import numpy as np
import pytest

import daedalus as dd


def growth():
    m = dd.Model("growth")
    x = m.state("x", start=1.0)
    a, b, c = m.parameter("a", 0.5), m.parameter("b", 0.05), m.parameter("c", 3.0)
    m.equation(m.der(x), a * x - b * x**2 + 0 * c)
    m.output("log", 2 * x)
    return m


@pytest.fixture(scope="module")
def sens():
    return dd.sensitivities(growth(), 4.0, rtol=1e-9)


def test_ranking_is_by_what_a_change_of_ones_own_size_does(sens):
    ranking = sens.rank()
    assert ranking.names[-1] == "c"
    assert dict(ranking)["c"] == 0.0
    times = np.linspace(0, 4, 101)
    at = sens.at(times)
    size = np.sqrt(np.mean(at.value[:, 0] ** 2))
    by_a = np.sqrt(np.mean((at.d("x", "a") * 0.5 / size) ** 2))
    assert dict(ranking)["a"] == pytest.approx(by_a, rel=1e-12)
    # Relative to its own size an output that is twice the state has the same ranking.
    np.testing.assert_allclose(sens.rank("log").influence, ranking.influence, rtol=1e-12)
    assert repr(ranking).splitlines()[0].split()[0] == ranking.names[0]


def test_fisher_information_adds_up_over_times_and_falls_with_the_noise(sens):
    early, late = sens.fisher("x", 0.1, times=[1.0]), sens.fisher("x", 0.1, times=[3.0])
    both = sens.fisher("x", 0.1, times=[1.0, 3.0])
    np.testing.assert_allclose(both, early + late, rtol=1e-12)
    np.testing.assert_allclose(sens.fisher("x", 0.2, times=[1.0]), early / 4, rtol=1e-12)
    assert list(both["p"].values) == ["a", "b", "c"]
    slope = sens.at(1.0).by_parameters[0]
    np.testing.assert_allclose(early, np.outer(slope, slope) / 0.01, rtol=1e-10)


def test_the_correlation_is_that_of_least_squares():
    s = dd.sensitivities(growth(), 4.0, wrt=("a", "b"), rtol=1e-9)
    found = s.correlation("x", times=np.linspace(0, 4, 30))
    slopes = s.at(np.linspace(0, 4, 30)).by_parameters[:, 0]
    covariance = np.linalg.inv(slopes.T @ slopes)
    expected = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert float(found[0, 1]) == pytest.approx(expected, rel=1e-6)
    assert 0.5 < expected < 1


def test_parameters_that_cannot_be_told_apart_are_named(sens):
    with pytest.raises(dd.SolverError) as refused:
        sens.correlation("x")
    assert "a combination of c changes none of the outputs" in str(refused.value)


def test_a_noise_that_is_not_positive_is_refused(sens):
    with pytest.raises(dd.InputError, match="sigma of x must be positive"):
        sens.fisher("x", sigma={"x": 0.0})
