"""sample: cases drawn from distributions, the same for the same seed, spread as their kind promises."""

import numpy as np
import pytest
from scipy import stats

import daedalus as dd


@pytest.mark.parametrize("kind", ["random", "latin", "sobol"])
def test_samples_follow_their_distributions(kind):
    drawn = dd.sample(
        {"L": dd.normal(1.0, 0.1), "a": dd.uniform(-1.0, 3.0), "b": dd.lognormal(0.0, 0.5)}, 4096, kind=kind
    )
    assert len(drawn) == 4096
    for name, distribution in (("L", stats.norm(1, 0.1)), ("a", stats.uniform(-1, 4)), ("b", stats.lognorm(0.5))):
        assert stats.kstest(drawn[name], distribution.cdf).pvalue > 1e-3
    assert abs(np.corrcoef(drawn["L"], drawn["a"])[0, 1]) < 0.06


def test_equal_seeds_give_equal_cases():
    first, again, other = (dd.sample({"L": dd.normal(0, 1)}, 100, kind="sobol", seed=s)["L"] for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_latin_hypercubes_put_one_case_into_each_slice():
    drawn = dd.sample({"a": dd.uniform(0, 1), "b": dd.uniform(0, 1)}, 50, kind="latin", seed=3)
    for name in ("a", "b"):
        assert sorted(np.floor(50 * drawn[name]).astype(int)) == list(range(50))


def test_sobol_points_integrate_better_than_random_ones():
    """The mean of a smooth function: the error falls nearly with the count, not with its square root."""
    errors = {}
    for kind in ("random", "sobol"):
        drawn = [dd.sample({"a": dd.uniform(0, 1), "b": dd.uniform(0, 1)}, 4096, kind=kind, seed=s) for s in range(8)]
        means = [np.mean(np.exp(d["a"]) * np.cos(d["b"])) for d in drawn]
        errors[kind] = np.sqrt(np.mean((np.array(means) - (np.e - 1) * np.sin(1)) ** 2))
    assert errors["sobol"] < errors["random"] / 20


@pytest.mark.parametrize(
    ("call", "headline"),
    [
        (lambda: dd.sample({}, 10), "dd.sample takes distributions by name."),
        (lambda: dd.sample({"L": 1.0}, 10), "The values of L are not a distribution."),
        (lambda: dd.sample({"L": dd.normal(0, 1)}, 0), "The number of cases is not a whole number above zero."),
        (lambda: dd.sample({"L": dd.normal(0, 1)}, 10, kind="halton"), "kind='halton' is not valid."),
        (lambda: dd.normal(0, 0), "std is not a positive number."),
        (lambda: dd.uniform(1, 1), "The lower bound of a uniform distribution must be below the upper one."),
    ],
)
def test_wrong_samples_are_named(call, headline):
    with pytest.raises(dd.InputError) as caught:
        call()
    assert str(caught.value).splitlines()[0] == headline
