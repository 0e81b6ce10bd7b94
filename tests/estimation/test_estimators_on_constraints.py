"""Estimators of linear plants on a constraint, with missing and late measurements, against a filter without it.

x' = A x + Cᵀ λ + B u with C x = 0 moves in the null space N of C: there it is the plant NᵀAN, whose Kalman filter takes
all measurements in the order in which they were made.
"""

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm, null_space
from tests.support.rings import examples

import daedalus as dd

EVERY, SAMPLES = 0.1, 10


def filtered(a, b, q, h, r, x, p, measured, inputs) -> np.ndarray:
    """The estimate after the last measurement; process noise by Van Loan's matrix."""
    n = len(a)
    large = expm(np.block([[-a, q], [np.zeros((n, n)), a.T]]) * EVERY)
    moved, gathered = large[n:, n:].T, large[n:, n:].T @ large[:n, n:]
    driven = expm(np.block([[a, b], [np.zeros((1, n + 1))]]) * EVERY)[:n, n:]
    for k, (y, u) in enumerate(zip(measured, inputs)):
        seen = np.isfinite(y)
        if seen.any():
            gain = p @ h[seen].T @ np.linalg.inv(h[seen] @ p @ h[seen].T + r[np.ix_(seen, seen)])
            x, p = x + gain @ (y - h @ x)[seen], p - gain @ h[seen] @ p
        if k + 1 < len(measured):
            x, p = moved @ x + driven @ u, moved @ p @ moved.T + gathered
    return x


@pytest.mark.parametrize("seed", range(examples(2)))
def test_missing_and_late_measurements_on_a_constraint(seed):
    random, n = np.random.default_rng(seed), 4
    a, b = random.normal(size=(n, n)) - 2 * np.eye(n), random.normal(size=(n, 1))
    c, h = random.normal(size=(1, n)), random.normal(size=(2, n))
    free = null_space(c)
    start = free @ random.normal(size=n - 1)
    p, q = (free @ np.diag(random.uniform(0.05, 1.0, n - 1)) @ free.T for _ in range(2))
    r = np.diag([0.05, 0.1])

    m = dd.Model("plant")
    x, force, u = m.state("x", n, start=start.tolist()), m.algebraic("force", 1), m.input("u")
    m.equation(m.der(x), ca.DM(a) @ x + ca.DM(c.T) @ force + ca.DM(b) * u)
    m.equation(ca.DM(c) @ x, 0)
    for k in range(2):
        m.output(f"y{k}", ca.DM(h[k : k + 1]) @ x)
    estimator = dd.Estimator(
        m, ["y0", "y1"], start_covariance=p, process_noise=q, measurement_noise=r, every=EVERY, horizon=8
    )

    measured, inputs = random.normal(size=(SAMPLES, 2)), random.normal(size=(SAMPLES, 1))
    measured[random.uniform(size=(SAMPLES, 2)) < 0.2] = np.nan
    late = random.choice(np.arange(1, SAMPLES - 3), 2, replace=False)
    for k in range(SAMPLES):
        found = estimator(np.full(2, np.nan) if k in late else measured[k], inputs[k])
        for before in late[late == k - 2]:
            found = estimator(measured[before], time=before * EVERY)
    best = filtered(
        free.T @ a @ free,
        free.T @ b,
        free.T @ q @ free,
        h @ free,
        r,
        free.T @ start,
        free.T @ p @ free,
        measured,
        inputs,
    )
    assert np.asarray(found)[:n] == pytest.approx(free @ best, abs=1e-6)
    assert c @ np.asarray(found)[:n] == pytest.approx(0.0, abs=1e-7)
