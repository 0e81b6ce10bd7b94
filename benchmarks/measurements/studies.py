"""Branches, orbits, boundary values and paths of noise: CPU seconds after the first call, and of SciPy's solve_bvp."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.timing import best_cpu_time

# Cells of the two fields, each with 100 states.
CELLS = 50
PATHS, STEPS = 10_000, 1000


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record; option part: "fold", "hopf", "orbit", "bratu", "eigenvalue" or "paths"; seconds."""
    parts = {"fold": fold, "hopf": hopf, "orbit": orbit, "bratu": bratu, "eigenvalue": eigenvalue, "paths": paths}
    yield parts[options["part"]](options["seconds"])


def fold(seconds: float) -> dict[str, Any]:
    """Bratu's problem on 100 points, up to strength 4 and back through its fold at 3.5135: a point of the branch."""
    import daedalus as dd

    n = 2 * CELLS
    h = 1 / n
    m = dd.Model("Bratu on a grid")
    u, strength = m.state("u", n, start=0.0), m.parameter("strength", 0.0)
    m.equation(m.der(u), dd.laplacian(u, h, boundary=("dirichlet", 0.0)) + strength * np.exp(u))

    def follow() -> Any:
        return dd.branch(m, "strength", (0.0, 4.0))

    found = follow()
    folds = [point.parameter for point in found.points if point.kind == "fold"]
    return {"ours": best_cpu_time(follow, seconds) / len(found["strength"]), "at": folds}


def hopf(seconds: float) -> dict[str, Any]:
    """The Brusselator on 50 cells with diffusion, through the Hopf points of its first modes: a point of the branch."""
    import daedalus as dd

    m = dd.Model("Brusselator on a line")
    u, v = m.state("u", CELLS, start=2.0), m.state("v", CELLS, start=1.0)
    feed, length, h = m.parameter("feed", 4.0), 1.0, 1 / CELLS
    m.equation(
        m.der(u), 2.0 - (feed + 1) * u + u**2 * v + 0.008 / length**2 * dd.laplacian(u, h, boundary=("dirichlet", 2.0))
    )
    m.equation(m.der(v), feed * u - u**2 * v + 0.004 / length**2 * dd.laplacian(v, h, boundary=("dirichlet", feed / 2)))

    def follow() -> Any:
        return dd.branch(m, "feed", (4.0, 6.5))

    found = follow()
    places = [point.parameter for point in found.points if point.kind == "hopf"]
    return {"ours": best_cpu_time(follow, seconds) / len(found["feed"]), "at": places}


def orbit(seconds: float) -> dict[str, Any]:
    """The limit cycle of van der Pol's oscillator from a circle; its period is 6.66328685932 (mu = 1)."""
    import daedalus as dd

    m = dd.Model("van der Pol")
    x, v = m.state("x", start=2.0), m.state("v", start=0.0)
    m.equation([m.der(x), m.der(v)], [v, (1 - x**2) * v - x])

    def find() -> Any:
        return dd.periodic(m, period=6.5)

    found = find()
    return {"ours": best_cpu_time(find, seconds), "error": abs(found.period - 6.66328685932)}


def bratu(seconds: float) -> dict[str, Any]:
    """y'' + exp(y) = 0, y(0) = y(1) = 0, the first example of solve_bvp, by both at errors far below 1e-9."""
    from scipy.integrate import solve_bvp

    import daedalus as dd

    m = dd.Model("Bratu")
    y = m.state("y", start=0.0, rate=0.0)
    m.equation(m.der(m.der(y)), -np.exp(y))

    def ours() -> Any:
        return dd.boundary_value(m, (0, 1), lambda at: [at(0)["y"], at(1)["y"]], rtol=1e-6, atol=1e-9)

    def theirs() -> Any:
        return solve_bvp(
            lambda x, y: np.vstack((y[1], -np.exp(y[0]))), lambda a, b: np.array([a[0], b[0]]), np.linspace(0, 1, 5),
            np.zeros((2, 5)), tol=1e-8, max_nodes=10_000,
        )  # fmt: skip

    # cosh(c / 4) sqrt(2) = c for strength 1 gives y'(0).
    c = 1.0
    for _ in range(200):
        c = np.sqrt(2.0) * np.cosh(c / 4)
    slope = c * np.tanh(c / 4)
    errors = {"error": abs(float(ours()["y_dot"][0]) - slope), "scipy_error": abs(theirs().y[1, 0] - slope)}
    return {"ours": best_cpu_time(ours, seconds), "scipy": best_cpu_time(theirs, seconds), **errors}


def eigenvalue(seconds: float) -> dict[str, Any]:
    """y'' + k² y = 0 with y(0) = y(1) = 0 and y'(0) = k, the second example, by both."""
    from scipy.integrate import solve_bvp

    import daedalus as dd

    m = dd.Model("string")
    y, k = m.state("y", start=0.0, rate=1.0), m.parameter("k", 6.0)
    m.equation(m.der(m.der(y)), -(k**2) * y)
    times = np.linspace(0, 1, 5)
    guess = np.array([[0.0, 1.0, 0.0, -1.0, 0.0], [0.0] * 5])

    def ours() -> Any:
        return dd.boundary_value(
            m, (0, 1), lambda at: [at(0)["y"], at(1)["y"], at(0)["y_dot"] - at(0)["k"]], free={"k": 6.0},
            guess={"y": lambda t: np.interp(t, times, guess[0])}, rtol=1e-6, atol=1e-9,
        )  # fmt: skip

    def theirs() -> Any:
        return solve_bvp(
            lambda x, y, p: np.vstack((y[1], -(p[0] ** 2) * y[0])),
            lambda a, b, p: np.array([a[0], b[0], a[1] - p[0]]), times, guess, p=[6.0], tol=1e-8, max_nodes=10_000,
        )  # fmt: skip

    right = 2 * np.pi
    errors = {"error": abs(ours()["k"] - right), "scipy_error": abs(theirs().p[0] - right)}
    return {"ours": best_cpu_time(ours, seconds), "scipy": best_cpu_time(theirs, seconds), **errors}


def paths(seconds: float) -> dict[str, Any]:
    """A damped oscillator that noise pushes: seconds for one step of one path."""
    import daedalus as dd

    m = dd.Model("pushed oscillator")
    x, v, w = m.state("x", start=0.0), m.state("v", start=0.0), m.noise("w", intensity=0.5)
    m.equation([m.der(x), m.der(v)], [v, -x - 0.2 * v + w])

    def many() -> Any:
        return dd.sweep(m, 10.0, seeds=PATHS, step=10.0 / STEPS, method="rk4", save_at="end", workers=1, on="cpu")

    many()
    return {"ours": best_cpu_time(many, seconds) / (PATHS * STEPS)}
