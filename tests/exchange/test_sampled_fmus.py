"""FMUs with discrete variables, conditions, clocks and schedules: what `dd.simulate` gives of the model itself."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def clocks_that_meet():
    """Two clocks, one that reads the other, and a condition that a tick makes true."""
    m = dd.Model("clocks")
    x, (a, b, c, n) = m.state("x", start=1.0), (m.discrete(name, start=0.0) for name in "abcn")
    m.equation(m.der(x), -x + a - b)
    m.every(0.1, {"a": a + x}, name="fast")
    m.every(0.3, {"b": a}, name="slow")
    m.every(0.3, {"c": b + 1}, after=["slow"])
    m.when(c > 1.5, {"n": n + 1})
    return m


def a_jump_that_others_follow():
    """A condition that holds at the start, and one that its jump makes true."""
    m = dd.Model("start")
    x, n, q = m.state("x", start=1.0), m.discrete("n", start=0.0), m.discrete("q", start=0)
    m.equation(m.der(x), 1.0 - n)
    m.when(x > 0.5, {"n": n + 0.25, "x": x + 2})
    m.when(x > 2.5, {"q": q + 1})
    return m


def scheduled():
    m = dd.Model("scheduled")
    x, u = m.state("x", start=1.0), m.discrete("u", start=0.0)
    m.equation(m.der(x), -x + u)
    m.schedule([0.33, 0.7], {"u": u + 1})
    return m


def relay():
    m = dd.Model("relay")
    x, v, on = m.state("x", start=0.3), m.state("v", start=0.0), m.discrete("on", start=1.0)
    m.equation([m.der(x), m.der(v)], [v, -x - 0.2 * v + (2 * on - 1)])
    m.when(x > 0.5, {"on": 0})
    m.when(x < -0.5, {"on": 1})
    return m


def late_clock():
    m = dd.Model("late")
    x, u = m.state("x", start=1.0), m.discrete("u", start=0.0)
    m.equation(m.der(x), -(x**2) + ca.sin(u))
    m.every(0.13, {"u": u + 1, "x": x + 0.1}, offset=0.05)
    return m


MODELS = (clocks_that_meet, a_jump_that_others_follow, scheduled, relay, late_clock)


@pytest.mark.parametrize("made", MODELS)
@pytest.mark.parametrize(("kind", "version"), [
    ("model_exchange", 3), ("co_simulation", 2), pytest.param("model_exchange", 2, marks=pytest.mark.wide),
    pytest.param("co_simulation", 3, marks=pytest.mark.wide),
])  # fmt: skip
def test_runs_are_those_of_the_model(made, kind, version, tmp_path):
    m, end = made(), 4.0 if made is relay else 1.0
    names = [v.name for kind_of in ("state", "discrete") for v in m.freeze().of_kind(kind_of)]
    path = dd.exchange.fmu(m, tmp_path / "m.fmu", kind=kind, version=version, outputs=names, rtol=1e-8).path
    times = np.linspace(0.0, end, 21)
    own = dd.simulate(m, end, rtol=1e-10, atol=1e-12, save_at=times)
    tr = dd.simulate(dd.exchange.load_fmu(path, trusted=True), end, rtol=1e-8, save_at=times)
    for name in names:
        np.testing.assert_allclose(tr[name], own[name], rtol=0, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("version", [2, pytest.param(3, marks=pytest.mark.wide)])
def test_fmpy_gets_our_results(version, tmp_path):
    fmpy = pytest.importorskip("fmpy", reason="needs the extra `fmi` (FMPy)")
    from fmpy.validation import validate_fmu

    for made in MODELS:
        path = str(dd.exchange.fmu(made(), tmp_path / f"{made.__name__}.fmu", version=version, rtol=1e-8).path)
        assert validate_fmu(path) == []
        own = dd.simulate(made(), 0.95, rtol=1e-10, atol=1e-12)
        for kind in ("ModelExchange", "CoSimulation"):
            found = fmpy.simulate_fmu(
                path, stop_time=0.95, fmi_type=kind, output=["x"], relative_tolerance=1e-9, output_interval=0.05
            )
            assert found["x"][-1] == pytest.approx(own["x"][-1], abs=2e-6), (made.__name__, kind)
