"""Whether residuals look like noise: runs of one sign, correlation from sample to sample, and their distribution.

Each number is the probability with which independent normal noise is at least as conspicuous; near zero the model, or
what is assumed of the noise, is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FEWEST = 8  # samples, below which nothing can be said
# Ten lags, or a fifth of the samples (R. J. Hyndman, G. Athanasopoulos, Forecasting, 2021, 5.4).
MOST_LAGS, SHARE_OF_LAGS = 10, 5
# A probability that is told: with a handful of tests a run, one in a hundred of them.
CONSPICUOUS = 1e-3


@dataclass(frozen=True)
class ResidualTests:
    """Probabilities that noise alone looks like the residuals of one name; NaN for too few samples.

    runs: of the number of runs of one sign (Wald, Wolfowitz 1940). whiteness: of the correlation of samples that follow
    each other (Ljung, Box 1978). normality: of the shape (Shapiro, Wilk 1965).

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 1.0)
    >>> m.equation(m.der(x), -k * x)
    >>> times = np.linspace(0, 2, 41)
    >>> wrong = np.exp(-0.7 * times) + 0.05 * np.sin(5 * times)
    >>> dd.fit(m, {"time": times, "x": wrong}, free="k").residual_tests["x"].runs < 1e-3
    True
    """

    runs: float
    whiteness: float
    normality: float

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is conspicuous, in words; empty for noise."""
        words = {
            "runs": "they keep one sign too long or change it too often",
            "whiteness": "neighbours are correlated",
            "normality": "they are not normally distributed",
        }
        return tuple(words[name] for name, value in vars(self).items() if value < CONSPICUOUS)


def judged_as_noise(series: list[np.ndarray]) -> ResidualTests:
    """The tests of the residuals of one name, one array an experiment or element, in order of time, without gaps."""
    kept = [part[np.isfinite(part)] for part in series]
    kept = [part for part in kept if len(part) >= FEWEST]
    if not kept:
        return ResidualTests(np.nan, np.nan, np.nan)
    from scipy import stats

    whole = np.concatenate(kept)[:5000]  # Shapiro and Wilk's is tabled up to here
    normality = float(stats.shapiro(whole).pvalue) if np.ptp(whole) > 0 else 0.0
    return ResidualTests(_runs(kept), _whiteness(kept), normality)


def _runs(series: list[np.ndarray]) -> float:
    """Two-sided, by the normal approximation, the experiments together."""
    from scipy import stats

    excess = variance = 0.0
    for part in series:
        signs = part >= 0
        above, count = float(np.count_nonzero(signs)), float(len(part))
        below = count - above
        both = 2 * above * below
        expected = both / count + 1
        excess += 1 + np.count_nonzero(signs[1:] != signs[:-1]) - expected
        variance += both * (both - count) / (count**2 * (count - 1)) if both > count else 0.0
    if variance == 0:
        return 0.0
    return float(2 * stats.norm.sf(abs(excess) / np.sqrt(variance)))


def _whiteness(series: list[np.ndarray]) -> float:
    """χ² of the autocorrelations, the experiments together."""
    from scipy import stats

    total, degrees = 0.0, 0
    for part in series:
        n, centred = len(part), part - part.mean()
        power = float(centred @ centred)
        lags = min(MOST_LAGS, n // SHARE_OF_LAGS)
        if power == 0 or lags == 0:
            continue
        squares = [(float(centred[k:] @ centred[:-k]) / power) ** 2 / (n - k) for k in range(1, lags + 1)]
        total, degrees = total + n * (n + 2) * sum(squares), degrees + lags
    return float(stats.chi2.sf(total, degrees)) if degrees else float("nan")
