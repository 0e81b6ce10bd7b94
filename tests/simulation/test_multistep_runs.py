"""Runs by linear multistep methods: order of convergence, index 1, tables, dense output, start-up, refusals."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

METHODS = [*(dd.bdf(m) for m in range(1, 7)), *(dd.adams_bashforth(m) for m in (1, 2, 3, 5)),
           *(dd.adams_moulton(m) for m in (1, 2, 4))]  # fmt: skip


def oscillator():
    m = dd.Model("oscillator")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation([m.der(x), m.der(v)], [v, -x + 0.1 * x**3])
    return m


def diode():
    """Index 1; z follows from a nonlinear equation."""
    m = dd.Model("diode")
    x, z, u = m.state("x", start=1.0), m.algebraic("z"), m.input("u")
    m.equation(m.der(x), -x + z)
    m.equation(z + z**3, x + u, name="law")
    return m


OSCILLATOR, DIODE = oscillator(), diode()


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_order_on_an_ode_and_of_one_step(method):
    found = dd.convergence(OSCILLATOR, method, [0.05, 0.025, 0.0125], span=1.0)
    assert found.expected == method.order
    assert found.order == pytest.approx(method.order, abs=0.3)
    if method.order < 5:
        one = dd.step_error(OSCILLATOR, method, 0.1)
        assert one.expected == method.order + 1
        assert one.order == pytest.approx(method.order + 1, abs=0.3)


@pytest.mark.document("003", "BDF on DAEs", "`dd.simulate(method=dd.bdf(3), step=h)`")
@pytest.mark.parametrize("method", [dd.bdf(2), dd.bdf(4), dd.adams_moulton(2)], ids=lambda method: method.name)
def test_the_order_at_index_1(method):
    found = dd.convergence(DIODE, method, [0.05, 0.025, 0.0125], span=1.0, inputs={"u": DIODE.time})
    assert found.orders["x"] == pytest.approx(method.order, abs=0.3)
    assert found.orders["z"] == pytest.approx(method.order, abs=0.3)


def test_index_2_by_bdf():
    m = dd.Model("slider")
    x, y, force = m.state("x", start=1.0), m.state("y", start=0.0), m.algebraic("force")
    m.equation(m.der(x), -y + force * x)
    m.equation(m.der(y), x + force * y)
    m.equation(x**2 + y**2, 1.0)
    exact = {"x": np.cos(1.0), "y": np.sin(1.0)}
    found = dd.convergence(m, dd.bdf(3), [0.05, 0.025, 0.0125], span=1.0, reference=exact)
    assert found.order > 2.7  # the symmetry of the circle makes it more
    with pytest.raises(dd.InputError, match=r"'adams_moulton2' does not solve this model(.|\n)*its index is 2"):
        dd.simulate(m, 1.0, method=dd.adams_moulton(2), step=0.1)


def test_stiff_systems_need_the_right_method():
    m = dd.Model("stiff")
    x = m.state("x", start=2.0)
    m.equation(m.der(x), -1000.0 * (x - np.e ** (-m.time)) - np.e ** (-m.time))
    end = dd.simulate(m, 1.0, method=dd.bdf(3), step=0.05)["x"][-1]
    assert end == pytest.approx(np.exp(-1.0), abs=1e-4)
    blown = dd.simulate(m, 1.0, method=dd.adams_bashforth(3), step=0.05)
    assert not blown.success or abs(blown["x"][-1]) > 1e6


def test_tables_cut_the_grid_and_save_at_reads_between():
    table = dd.signal([0.0, 0.3, 0.55], [0.0, 1.0, -1.0])
    times = np.linspace(0.0, 1.0, 23)
    right = dd.simulate(DIODE, 1.0, inputs={"u": table}, save_at=times, rtol=1e-10)
    for method in (dd.bdf(4), dd.adams_moulton(3)):
        tr = dd.simulate(DIODE, 1.0, inputs={"u": table}, save_at=times, method=method, step=0.01)
        assert tr["x"] == pytest.approx(right["x"], abs=1e-7)
        assert tr["z"] == pytest.approx(right["z"], abs=1e-7)
    whole = dd.simulate(DIODE, 1.0, inputs={"u": table}, method=dd.bdf(2), step=0.1)
    assert {0.3, 0.55, 1.0} <= set(whole.time.tolist())
    assert np.diff(whole.time).max() <= 0.1 + 1e-12


def test_backwards_functions_parameters_and_files(tmp_path):
    m = dd.Model("driven")
    x, u, k = m.state("x", start=1.0), m.input("u"), m.parameter("k", 1.0)
    m.equation(m.der(x), u - k * x)
    uneven = {"u": lambda t: [0.0, 2.0][int(t > 5)]}  # cannot be traced
    tr = dd.simulate(m, (1.0, 0.0), inputs=uneven, parameters={"k": 2.0}, method=dd.adams_moulton(2), step=0.01)
    assert tr["x"][-1] == pytest.approx(np.exp(2.0), abs=1e-5)
    assert tr.at(0.5)["x"] == pytest.approx(np.exp(1.0), abs=1e-5)
    tr.save(tmp_path / "run.nc")
    back = dd.load(tmp_path / "run.nc")
    assert back.at(0.25)["x"] == tr.at(0.25)["x"]
    assert back.notes == tr.notes


def test_what_a_run_tells():
    tr = dd.simulate(OSCILLATOR, 1.0, method=dd.bdf(3), step=0.01)
    assert (tr.method, tr.work.steps, tr.stop_reason) == ("bdf3", 100, "reached t = 1")
    assert tr.notes == ("bdf3, as asked, at fixed step; the first 2 steps of an interval by radau9 at rtol = 1e-12",)
    explicit = dd.simulate(OSCILLATOR, 1.0, method=dd.adams_bashforth(2), step=0.01)
    assert explicit.work.rhs == 101
    assert explicit.notes == (
        "adams_bashforth2, as asked, at fixed step; the first step of an interval by dop853 at rtol = 1e-12",
    )
    short = dd.simulate(OSCILLATOR, 1.0, method=dd.bdf(2), step=0.01, max_steps=20)
    assert (short.status, len(short.time)) == ("step_limit", 21)


def test_constraints_of_a_reduced_model_are_kept():
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[1, 0], rate=[0, 0])
    m.kinetic_energy(0.5 * (m.rate(p)[0] ** 2 + m.rate(p)[1] ** 2))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", p[0] ** 2 + p[1] ** 2 - 1)
    tr = dd.simulate(m, 1.0, method=dd.adams_bashforth(3), step=0.005)
    assert max(tr.drift().values()) < 1e-12
    assert tr["p"][-1] == pytest.approx(dd.simulate(m, 1.0, rtol=1e-9)["p"][-1], abs=1e-4)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda m: dd.simulate(m, 1.0, method=dd.bdf(3)),
            "The method 'bdf3' needs a step.\n  Because its formula needs past values at equal distances.\n"
            '  Try: step=0.01, or method="bdf", which chooses order and step',
        ),
        (lambda m: dd.simulate(m, 1.0, method=dd.bdf(7), step=0.1), "The method 'bdf7' does not converge."),
        (
            lambda m: dd.prepare(m, 1.0, method=dd.bdf(2), step=0.1),
            "Linear multistep methods run only in dd.simulate and dd.convergence.\n  got bdf2",
        ),
        (lambda m: dd.sensitivities(m, 1.0, method=dd.bdf(2), step=0.1), "Linear multistep methods run only in"),
        (
            lambda m: dd.sweep(m, 1.0, over={"x": [1.0]}, method=dd.bdf(2), step=0.1),
            "Linear multistep methods run only in",
        ),
    ],
)
def test_what_is_refused_in_words(call, text):
    with pytest.raises(dd.InputError) as caught:
        call(OSCILLATOR)
    assert str(caught.value).startswith(text)


def test_events_are_refused_by_name():
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation([m.der(h), m.der(v)], [v, -9.81])
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
    with pytest.raises(dd.InputError) as caught:
        dd.simulate(m, 1.0, method=dd.bdf(2), step=0.01)
    assert str(caught.value) == (
        "The method 'bdf2' does not support events.\n"
        "  the model has bounce\n"
        "  Because after an event its past values would have to be computed again.\n"
        '  Try: a one-step method such as "rk4", or an adaptive one'
    )


def test_bdf_of_one_step_is_implicit_euler_and_runs_what_it_runs():
    """Also index 3 as written, events, and the same rows."""
    known = catalogue.load("pendulum_3d")
    given = {"start": known.start, "inputs": known.inputs, "step": 0.01}
    one, other = (dd.simulate(known.model, 0.2, method=m, **given) for m in (dd.bdf(1), "implicit_euler"))
    assert one.success
    assert np.array_equal(one["cable"], other["cable"])
    assert np.array_equal(one.time, other.time)


@pytest.mark.parametrize("method", [dd.bdf(3), dd.adams_moulton(3)], ids=lambda method: method.name)
def test_states_of_any_unit_take_the_same_steps(method):
    """An oscillator with an algebraic equation of third degree, in metres and in ångströms."""
    ends = []
    for size in (1.0, 1e-10):
        m = dd.Model("spring")
        x, v = m.state("x", start=size, nominal=size), m.state("v", start=0.0, nominal=size)
        z = m.algebraic("z", start=size, nominal=size)
        m.equation([m.der(x), m.der(v)], [v, -5 * z])
        m.equation(z + 0.3 * z**3 / size**2, x)
        ends.append(float(dd.simulate(m, 3.0, method=method, step=0.05)["x"][-1]) / size)
    assert ends[1] == pytest.approx(ends[0], rel=1e-12)
