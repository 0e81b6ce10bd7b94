"""Branches, orbits, boundary values and paths of noise: CPU seconds after the first call, and of SciPy's solve_bvp."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.timing import best_cpu_time

# Cells of the two fields, each with 100 states.
CELLS = 50
# Twice as many points as the branch of the reactor takes by itself.
MAX_STEP = 0.0105
PATHS, STEPS = 100_000, 1000
# A tolerance whose errors are rounding.
EXACT = 1e-8


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record; option part: one of `parts`; seconds."""
    parts = {
        "fold": fold, "hopf": hopf, "reactor": reactor, "orbit": orbit, "paths": paths,
        "bratu": bratu, "exact bratu": lambda seconds: bratu(seconds, EXACT),
        "eigenvalue": eigenvalue, "exact eigenvalue": lambda seconds: eigenvalue(seconds, EXACT),
    }  # fmt: skip
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


def reactor(seconds: float) -> dict[str, Any]:
    """A tubular reactor on 50 cells through two folds and two Hopf points: a branch of about 100 points.

    R. F. Heinemann and A. B. Poore, Chemical Engineering Science 36 (1981): Péclet numbers 5, gamma 25, B 0.5, beta 3.
    """
    import casadi as ca

    import daedalus as dd

    m, h, peclet, gamma = dd.Model("tubular reactor"), 1 / CELLS, 5.0, 25.0
    y, T = m.state("y", CELLS, start=1.0), m.state("T", CELLS, start=1.0)
    rate = m.parameter("rate", 0.05)

    def outflow(c: Any) -> Any:
        inside = 0.5 * (c[:-1] + c[1:]) - (c[1:] - c[:-1]) / (h * peclet)
        flux = ca.vertcat(1.0, inside, c[-1])
        return (flux[1:] - flux[:-1]) / h

    reaction = rate * y * ca.exp(gamma - gamma / T)
    m.equation(m.der(y), -outflow(y) - reaction)
    m.equation(m.der(T), -outflow(T) - 3.0 * (T - 1) + 0.5 * reaction)

    def follow() -> Any:
        return dd.branch(m, "rate", (0.05, 0.4), max_step=MAX_STEP)

    found = follow()
    count = len(found["rate"])
    at = [(point.kind, point.parameter) for point in found.points]
    return {"ours": best_cpu_time(follow, seconds) * 100 / count, "count": count, "at": at}


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


def bratu(seconds: float, rtol: float = 1e-3) -> dict[str, Any]:
    """y'' + exp(y) = 0, y(0) = y(1) = 0, the first example of solve_bvp, by both at equal errors."""
    from scipy.integrate import solve_bvp

    import daedalus as dd

    m = dd.Model("Bratu")
    y = m.state("y", start=0.0, rate=0.0)
    m.equation(m.der(m.der(y)), -np.exp(y))

    def ours() -> Any:
        conditions = lambda at: [at(0)["y"], at(1)["y"]]  # noqa: E731
        return dd.boundary_value(m, (0, 1), conditions, rtol=rtol, atol=1e-3 * rtol)

    def theirs(tol: float) -> Any:
        return solve_bvp(
            lambda x, y: np.vstack((y[1], -np.exp(y[0]))), lambda a, b: np.array([a[0], b[0]]), np.linspace(0, 1, 5),
            np.zeros((2, 5)), tol=tol, max_nodes=100_000,
        )  # fmt: skip

    # y = -2 ln(cosh((x - 1/2) c / 2) / cosh(c / 4)) with c = cosh(c / 4) sqrt(2).
    c = 1.0
    for _ in range(200):
        c = np.sqrt(2.0) * np.cosh(c / 4)
    return beside(ours, theirs, lambda x: -2 * np.log(np.cosh((x - 0.5) * c / 2) / np.cosh(c / 4)), seconds)


def eigenvalue(seconds: float, rtol: float = 1e-3) -> dict[str, Any]:
    """y'' + k² y = 0 with y(0) = y(1) = 0 and y'(0) = k, the second example, by both at equal errors."""
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
            guess={"y": lambda t: np.interp(t, times, guess[0])}, rtol=rtol, atol=1e-3 * rtol,
        )  # fmt: skip

    def theirs(tol: float) -> Any:
        return solve_bvp(
            lambda x, y, p: np.vstack((y[1], -(p[0] ** 2) * y[0])),
            lambda a, b, p: np.array([a[0], b[0], a[1] - p[0]]), times, guess, p=[6.0], tol=tol, max_nodes=100_000,
        )  # fmt: skip

    return beside(ours, theirs, lambda x: np.sin(2 * np.pi * x), seconds)


# What is below this is rounding: nobody has to come nearer.
ROUNDED = 2e-15


def beside(ours: Any, theirs: Any, exact: Any, seconds: float) -> dict[str, Any]:
    """Both with their largest error over the span, solve_bvp at the loosest tolerance that reaches ours."""
    x = np.linspace(0, 1, 501)
    begin = time.process_time()
    found = ours()
    first = time.process_time() - begin
    error = float(np.abs(found.at(x)["y"] - exact(x)).max())
    for tol in 10.0 ** -np.arange(3, 13):
        own = float(np.abs(theirs(tol).sol(x)[0] - exact(x)).max())
        if own <= max(error, ROUNDED):
            break
    times = {"ours": best_cpu_time(ours, seconds), "scipy": best_cpu_time(lambda: theirs(tol), seconds)}
    return {**times, "first": first, "error": error, "scipy_error": own}


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
