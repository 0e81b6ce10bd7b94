"""Fits and filter steps: CPU seconds after the first call, and of SciPy's least squares over its own integrator."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.timing import best_cpu_time

TIMES = np.linspace(0.0, 10.0, 1000)
TRUE, GUESS, SIGMA = (1.3, 0.2), (1.0, 0.1), 0.01
# Of Andrews' mechanism: what its motion tells most about, and how well it is believed to be known before.
ANDREWS = ("inertia[0]", "mass[2]", "inertia[6]", "mass[1]", "mass[4]", "mass[5]", "mass[3]", "inertia[1]")
BELIEVED, MEASURED = 0.2, 1e-5


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record; option part: "pendulum", "andrews" or "filter"; seconds."""
    yield {"pendulum": pendulum, "andrews": andrews, "filter": quadrotor_filter}[options["part"]](options["seconds"])


def pendulum(seconds: float) -> dict[str, Any]:
    """Length and damping from 1000 noisy angles, by both."""
    import casadi as ca

    import daedalus as dd

    m = dd.Model("pendulum")
    angle, rate = m.state("angle", start=0.5), m.state("rate", start=0.0)
    length, damping = m.parameter("length", GUESS[0]), m.parameter("damping", GUESS[1])
    m.equation([m.der(angle), m.der(rate)], [rate, -9.81 / length * ca.sin(angle) - damping * rate])
    truth = dd.simulate(m, 10.0, parameters=dict(zip(("length", "damping"), TRUE)), save_at=TIMES, rtol=1e-10)
    data = truth["angle"] + SIGMA * np.random.default_rng(0).normal(size=len(TIMES))
    ours = dd.fit(m, {"time": TIMES, "angle": data}, free=["length", "damping"])
    took = best_cpu_time(lambda: dd.fit(m, {"time": TIMES, "angle": data}, free=["length", "damping"]), seconds)
    theirs, values = scipy_fit(data)
    return {"ours": took, "scipy": theirs, "difference": float(np.abs(values / list(ours.values()) - 1).max())}


def scipy_fit(data: np.ndarray) -> tuple[float, np.ndarray]:
    """The same by least_squares over solve_ivp at the same tolerances."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import least_squares

    def rhs(t: float, y: np.ndarray, length: float, damping: float) -> list[float]:
        return [y[1], -9.81 / length * np.sin(y[0]) - damping * y[1]]

    def residuals(p: np.ndarray) -> np.ndarray:
        found = solve_ivp(rhs, (0.0, 10.0), [0.5, 0.0], "DOP853", TIMES, args=tuple(p), rtol=1e-8, atol=1e-11)
        return (found.y[0] - data) / SIGMA

    begin = time.process_time()
    done = least_squares(residuals, GUESS)
    return time.process_time() - begin, done.x


def andrews(seconds: float) -> dict[str, Any]:
    """Eight masses and inertias from 200 samples of seven angles."""
    import daedalus as dd
    from daedalus import catalogue

    k = catalogue.load("andrews")
    times = np.linspace(*k.span, 200)
    run = dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs, save_at=times, rtol=1e-9)
    data = {"time": times, "angle": run["angle"] + MEASURED * np.random.default_rng(0).normal(size=(200, 7))}
    written = dict(zip(run.system.labels["p"], run.system.start["p"].tolist()))
    guess = {name: written[name] * (1 + 0.1 * (-1) ** i) for i, name in enumerate(ANDREWS)}
    prior = {name: (value, BELIEVED * value) for name, value in guess.items()}

    def fit() -> Any:
        return dd.fit(
            k.model, data, list(ANDREWS), noise=MEASURED, prior=prior, start=k.start, inputs=k.inputs, parameters=guess
        )

    found = fit()
    off = max(abs(found[name] - written[name]) / found.std[name] for name in ANDREWS)
    return {"ours": best_cpu_time(fit, seconds), "off": off}


def quadrotor_filter(seconds: float) -> dict[str, Any]:
    """One step of the extended Kalman filter: 13 states, position and quaternion measured, 100 a second."""
    import daedalus as dd
    from daedalus import catalogue

    k = catalogue.load("quadrotor")
    estimator = dd.Estimator(
        k.model, ["position", "quaternion"], start_covariance=0.01, process_noise=1e-4, measurement_noise=1e-4,
        every=0.01, inputs=k.inputs,
    )  # fmt: skip
    u, seen = np.asarray(k.inputs["thrust"], dtype=float), [0, 1, 2, 6, 7, 8, 9]
    y = estimator.state[seen]
    return {"ours": best_cpu_time(lambda: estimator(y, u), seconds)}
