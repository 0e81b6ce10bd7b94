"""A sampled PID controller on a second-order plant, 10 s at 1 kHz, run in several ways; and what one sample costs.

x'' = u - 0.4 x' - x with u = 20 e + 10 ∫e - 4 x' held between samples: each way gives x at the end too, so that the
comparison is one of equal answers.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.timing import best_cpu_time

END, PERIOD, RTOL = 10.0, 1e-3, 1e-6
SAMPLES = 10_000


def plant() -> tuple[Any, Any, Any, Any]:
    """The plant with a discrete input."""
    import daedalus as dd

    m = dd.Model("plant")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.discrete("u")
    m.equation(m.der(x), v)
    m.equation(m.der(v), u - 0.4 * v - x)
    return m, x, v, u


def by_formula() -> Callable[[], float]:
    """A clock that assigns formulas."""
    import daedalus as dd

    m, x, v, _ = plant()
    integral = m.discrete("integral")
    m.every(PERIOD, {"u": 20 * (1 - x) + 10 * integral - 4 * v, "integral": integral + PERIOD * (1 - x)})
    return lambda: float(dd.simulate(m, END, rtol=RTOL, save_at=[END], progress=False)["x"][-1])


def by_code() -> Callable[[], float]:
    """A clock that calls Python."""
    import daedalus as dd

    m, *_ = plant()

    def controller(t: float, values: tuple[float, float], integral: float) -> tuple[tuple[float], float]:
        x, v = values
        return (20 * (1 - x) + 10 * integral - 4 * v,), integral + PERIOD * (1 - x)

    m.every(PERIOD, call=controller, reads=["x", "v"], writes=["u"], memory=0.0)
    return lambda: float(dd.simulate(m, END, rtol=RTOL, save_at=[END], progress=False)["x"][-1])


def by_loop() -> Callable[[], float]:
    """`dd.simulate` called from sample to sample."""
    import daedalus as dd

    m = dd.Model("plant")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.parameter("u", 0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), u - 0.4 * v - x)

    def run() -> float:
        state, integral = {"x": 0.0, "v": 0.0}, 0.0
        for k in range(SAMPLES):
            now = 20 * (1 - state["x"]) + 10 * integral - 4 * state["v"]
            integral += PERIOD * (1 - state["x"])
            span = (k * PERIOD, (k + 1) * PERIOD)
            tr = dd.simulate(m, span, start=state, parameters={"u": now}, rtol=RTOL, progress=False)
            state = {"x": float(tr["x"][-1]), "v": float(tr["v"][-1])}
        return state["x"]

    return run


def by_scipy() -> Callable[[], float]:
    """SciPy's solve_ivp called from sample to sample."""
    from scipy.integrate import solve_ivp

    def run() -> float:
        y, integral = np.zeros(2), 0.0
        for k in range(SAMPLES):
            u = 20 * (1 - y[0]) + 10 * integral - 4 * y[1]
            integral += PERIOD * (1 - y[0])
            slope = lambda t, y, u=u: (y[1], u - 0.4 * y[1] - y[0])  # noqa: E731
            y = solve_ivp(slope, (k * PERIOD, (k + 1) * PERIOD), y, rtol=RTOL, atol=1e-9).y[:, -1]
        return float(y[0])

    return run


WAYS = {"formula": by_formula, "code": by_code, "loop": by_loop, "scipy": by_scipy}


def one_sample(with_code: bool) -> float:
    """Seconds that a tick adds to a run whose steps end there anyway, of a value that no equation reads."""
    import daedalus as dd

    def model(clock: bool) -> Any:
        m = dd.Model("idle")
        x, seen = m.state("x", start=1.0), m.discrete("seen")
        m.equation(m.der(x), -x)
        # Steps end at the times of a schedule, with a clock or without.
        mark = m.discrete("mark")
        m.every(PERIOD, {"mark": mark}, name="marker")
        if clock and with_code:
            m.every(PERIOD, call=lambda t, values, memory: ((values[0],), None), reads=["x"], writes=["seen"])
        elif clock:
            m.every(PERIOD, {"seen": 0.5 * seen + x})
        return m

    times = []
    for clock in (True, False):
        m = model(clock)
        run = lambda m=m: dd.simulate(m, END, rtol=1e-3, save_at=[END], progress=False)  # noqa: E731
        times.append(best_cpu_time(run, 0.5))
    return (times[0] - times[1]) / SAMPLES


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record of a way: seconds and x at the end; of a sample: seconds."""
    way = options["way"]
    if way.startswith("sample"):
        yield {"seconds": one_sample(way == "sample by code")}
        return
    run = WAYS[way]()
    value = run()
    yield {"seconds": best_cpu_time(run, options["seconds"]), "value": value}
