"""Linear systems under white noise: the covariance once the motion has settled, and the spectrum.

With white noise w of density W, x' = A x + B w has the stationary covariance P of A P + P Aᵀ + B W Bᵀ = 0 (Lyapunov).
Its outputs have the spectral density H(iω) W H(iω)ᴴ with the transfer function H.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.analysis.linear.descriptor import DescriptorSystem
from daedalus.analysis.linear.lti import LTI
from daedalus.analysis.linear.responses.discrete_lti import DiscreteLTI
from daedalus.analysis.linear.riccati import weights
from daedalus.errors import InputError, SolverError
from daedalus.model.names import element_label

# A variable counts as one that white noise reaches directly where its share of the noise is above this.
DIRECT = 1e-12


def covariance(lin: LTI | DescriptorSystem | DiscreteLTI, intensity: object = None) -> np.ndarray:
    """Compute the stationary covariance of the states of a linear system whose inputs are white noise, exactly.

    Parameters
    ----------
    lin: a stable system: `dd.linearise(m)`, a `dd.LTI`, a `dd.DescriptorSystem`, or a sampled system of `discretise`.
    intensity: the spectral density of the inputs: a number for all, a diagonal, a matrix, or numbers by name (zero for
        other inputs). By default that of `m.noise` in the model that was linearised, and 1 for all inputs of a system
        without a model. For a sampled system it is the covariance of one sample.

    Returns an array in the order of `lin.states`. The variance of a variable that contains the white noise itself is
    infinite.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); x = m.state("x", start=0.0); v = m.state("v", start=0.0); w = m.noise("w", 0.4)
    >>> m.equation([m.der(x), m.der(v)], [v, -4 * x - 0.5 * v + w])
    >>> dd.covariance(dd.linearise(m)).diagonal().round(12).tolist()
    [0.1, 0.4]
    """
    density = _density(lin, intensity)
    if isinstance(lin, DescriptorSystem):
        space, reads, direct, _ = lin._for_gains(lin.states)
        found = reads @ _stationary(space.A, space.B, density) @ reads.T
        unbounded = np.abs(direct @ density @ direct.T).diagonal() > DIRECT * np.abs(density).max(initial=0.0)
        found[unbounded], found[:, unbounded] = np.nan, np.nan
        found[unbounded, unbounded] = np.inf
        return found
    return _stationary(lin.A, lin.B, density, sampled=isinstance(lin, DiscreteLTI))


def spectrum(lin: LTI | DescriptorSystem, intensity: object, frequencies: object) -> np.ndarray:
    """Compute the spectral density of the outputs of a linear system whose inputs are white noise.

    Parameters
    ----------
    lin: a linear system in continuous time. intensity: as in `dd.covariance`.
    frequencies: in Hz, of any shape.

    Returns a complex array (..., outputs, outputs): power per Hz on its diagonal, over positive and negative
    frequencies, so that its integral over all of them is the variance.

    Example
    -------
    >>> import daedalus as dd
    >>> low_pass = dd.LTI([[-1.0]], [[1.0]])
    >>> dd.spectrum(low_pass, 2.0, 0.0).real.tolist()
    [[2.0]]
    """
    density = _density(lin, intensity)
    try:
        values = np.asarray(frequencies, dtype=float)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if not np.all(np.isfinite(values)):
        raise InputError(
            "The frequencies are not numbers.", f"got {frequencies!r}"[:80], remedy="np.geomspace(0.01, 100, 200)"
        )
    gains = lin.transfer(2j * np.pi * values)
    return gains @ density @ np.conj(np.swapaxes(gains, -1, -2))


def _density(lin: Any, intensity: object) -> np.ndarray:
    if not isinstance(lin, (LTI, DescriptorSystem, DiscreteLTI)):
        raise InputError(
            "The covariance is that of a linear system.",
            f"got {type(lin).__name__}",
            remedy="dd.covariance(dd.linearise(m), intensity)",
        )
    found = weights(_intensity_of(lin) if intensity is None else intensity, lin.inputs, "input")
    if np.any(np.linalg.eigvalsh(found) < -1e-12 * np.abs(found).max(initial=0.0)):
        raise InputError(
            "The intensity matrix is not positive semidefinite.",
            f"its eigenvalues are {np.linalg.eigvalsh(found).round(6).tolist()}"[:120],
            because="no combination of noises has a negative variance.",
            remedy="a symmetric matrix without negative eigenvalues",
        )
    return found


def _intensity_of(lin: Any) -> object:
    """The intensities of the noises in the model that a system comes from, by name; 1 where there is no model."""
    system = getattr(getattr(lin, "point", None), "system", None)
    if system is None or not system.noises:
        return 1.0
    known = {
        element_label(v.name, v.shape, k): v.noise.spread[k]
        for v in system.noises if v.noise.is_white for k in range(v.size)
    }  # fmt: skip
    return {name: value for name, value in known.items() if name in lin.inputs}


def _stationary(A: np.ndarray, B: np.ndarray, density: np.ndarray, sampled: bool = False) -> np.ndarray:
    from scipy.linalg import matrix_balance, solve_continuous_lyapunov, solve_discrete_lyapunov

    poles = np.linalg.eigvals(A)
    size = float(np.abs(poles).max(initial=0.0)) or 1.0
    worst = np.abs(poles).max(initial=0.0) - 1 if sampled else poles.real.max(initial=-np.inf) / size
    if worst > -1e-13:
        raise SolverError(
            "The noise does not settle.",
            f"poles that do not decay: {', '.join(f'{pole:.4g}' for pole in _undamped(poles, sampled)[:4])}",
            because="the variance of a mode that does not decay keeps growing.",
            remedy="dd.propagate for the variance over a finite time, or a stable system",
        )
    # In units in which rows and columns are alike, and in the time of the fastest mode: powers of two, so exact.
    balanced, (units, _) = matrix_balance(A, permute=False, separate=True)
    driven = B / units[:, None]
    power = driven @ density @ driven.T
    fastest = 1.0 if sampled else 2.0 ** np.round(np.log2(np.abs(poles).max()))
    scale = float(np.abs(power).max(initial=0.0)) or 1.0
    solve = solve_discrete_lyapunov if sampled else solve_continuous_lyapunov
    found = np.asarray(solve(balanced / fastest, (1.0 if sampled else -1.0) * power / scale))
    return 0.5 * np.outer(units, units) * (found + found.T) * (scale / fastest)


def _undamped(poles: np.ndarray, sampled: bool) -> np.ndarray:
    return poles[np.argsort(-(np.abs(poles) if sampled else poles.real))]
