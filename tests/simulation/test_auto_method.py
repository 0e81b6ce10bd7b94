"""method="auto" takes what the model asks for and says why; a method that cannot solve a model is refused."""

import math

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus import catalogue
from daedalus.model.system.once import once
from daedalus.simulation.result.records_of_methods import ImplicitChosen, Stiffness, ToleranceTightened
from daedalus.simulation.run import stiff_start, travel
from daedalus.simulation.start import implicit_start


def van_der_pol(stiffness):
    m = dd.Model("van der Pol")
    x, v = m.state("x", start=2.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), stiffness * (1 - x**2) * v - x)
    return m


def pendulum():
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    return m


def test_a_soft_model_stays_explicit():
    tr = dd.simulate(van_der_pol(1.0), 20.0)
    assert (tr.method, tr.notes[0]) == ("dop853", "auto: dop853, explicit, for rtol = 1e-06")
    assert dd.simulate(van_der_pol(1.0), 20.0, rtol=1e-3).notes[0] == "auto: dop853, explicit, for rtol = 0.001"


def test_a_model_that_is_stiff_from_the_start_is_run_whole_by_an_implicit_method():
    tr = dd.simulate(van_der_pol(1000.0), 2000.0)
    assert (tr.success, tr.method, len(tr.pieces), tr.time[0]) == (True, "radau5", 1, 0.0)
    (told,) = records_of(tr, ImplicitChosen)
    assert told == ImplicitChosen(
        "radau5", Stiffness("dop853", told.because.step, told.because.time, told.because.steps)
    )
    assert told.because.steps <= stiff_start.FEW_STEPS
    assert told.because.time <= stiff_start.FEW_PARTS * 2000.0
    assert tr.notes[0] == (
        f"auto: radau5, implicit, because stability held dop853 to steps of {told.because.step:.2g} from "
        f"t = {told.because.time:.3g} on, seen after {told.because.steps} steps"
    )
    reference = dd.simulate(van_der_pol(1000.0), 2000.0, method="radau9", rtol=1e-10, atol=1e-12)
    assert tr["x"][-1] == pytest.approx(reference["x"][-1], abs=1e-3)


def test_what_a_trial_found_changes_no_bit_of_a_later_run():
    """The same call with nothing known, after itself, after calls with other numbers, prepared, and as it was asked."""
    known = catalogue.load("robertson")
    options = {"start": known.start, "rtol": 1e-5, "atol": 1e-11}
    first = dd.simulate(known.model, known.span, **options)
    trials = once(known.model.freeze(), travel._kept)
    assert (len(trials), first.method) == (1, "rodas5p")
    consistent = dd.initialise(known.model, known.start)
    begun = dd.simulate(known.model, known.span, **{**options, "start": consistent})
    assert len(trials) == 2
    trials.pop(next(reversed(trials)))
    others = [dd.simulate(known.model, span, **options) for span in (1e3, known.span, 1e5, known.span)]
    assert len(trials) == 3
    prepared = dd.prepare(known.model, known.span, **options).trajectory()
    anew = catalogue.load("robertson")
    asked = dd.simulate(anew.model, anew.span, method="rodas5p", **options)
    for again in (others[1], others[3], prepared, begun, dd.simulate(anew.model, anew.span, **options)):
        assert again.records == first.records
        assert (again.time.tobytes(), again["y"].tobytes()) == (first.time.tobytes(), first["y"].tobytes())
    assert asked.work.steps == first.work.steps
    assert asked["y"] == pytest.approx(first["y"], rel=1e-12, abs=1e-30)


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8, 1e-10])
def test_a_reaction_is_seen_to_be_stiff_after_few_steps_at_any_tolerance(rtol):
    """At rtol = 1e-8 the steps settle just below the edge of stability, at 1e-10 at a third of it."""
    known = catalogue.load("robertson")
    tr = dd.simulate(known.model, known.span, start=known.start, rtol=rtol, atol=1e-6 * rtol)
    (told,) = records_of(tr, ImplicitChosen)
    assert (told.because.method, len(tr.pieces), tr.work.jacobians > 0) == ("dop853", 1, True)
    assert told.because.steps < 100
    error = max(known.reference.error(name, tr[name][-1]) for name in known.reference)
    assert error < 1000 * rtol + 10.0**-known.reference.digits


@pytest.mark.parametrize(("rtol", "method"), [(1e-3, "dop853"), (1e-4, "dop853"), (1e-6, "dop853")])
def test_a_long_oscillation_is_not_taken_for_a_stiff_model(rtol, method):
    """Steps of up to a quarter of the edge, and a hundred thousand of them to come: accuracy limits them."""
    m = dd.Model("oscillator")
    y = m.state("y", start=1.0)
    m.equation(m.der(m.der(y)), -y)
    tr = dd.simulate(m, 3e5, rtol=rtol, atol=1e-3 * rtol)
    assert tr.success
    assert tr.work.steps > 1e5
    assert tr.method == method


def late(sign=1.0):
    """Soft, then stiff from t = 8 on: x follows the input behind a rate that grows; an oscillation limits the steps."""
    m = dd.Model("late")
    x, n = m.state("x", start=1.0), m.state("n", start=0.0)
    z = m.algebraic("z")
    u, fast = m.input("u"), m.parameter("fast", 1e5)
    rate = 1 + fast * (1 + ca.tanh(8 * (sign * m.time - 8))) / 2
    m.equation(m.der(x), sign * rate * (z - x))
    m.equation(z, u, name="wish")
    m.equation(m.der(n), 0.0)
    s = m.state("s", start=0.0, rate=1.0)
    m.equation(m.der(m.der(s)), -s)
    m.event("up", x - 0.5, direction=1, reset={"n": n + 1})
    return m


TIMES = np.linspace(0.0, 20.0, 201)
WISHES = {
    "expression": lambda m: ca.sin(m.time),
    "table": lambda m: dd.signal(TIMES, np.sin(TIMES), kind="linear"),
    "function": lambda m: lambda t: math.sin(float(t)),  # cannot be read as a formula
}


@pytest.mark.parametrize("kind", WISHES)
def test_a_run_that_becomes_stiff_goes_on_from_there(kind):
    m = late()
    inputs = {"u": WISHES[kind](m)}
    tr = dd.simulate(m, 20.0, inputs=inputs, rtol=1e-6, parameters={"fast": 2e5})
    reference = dd.simulate(
        m, 20.0, inputs=inputs, rtol=1e-10, atol=1e-12, method="radau9", parameters={"fast": 2e5}, max_step=0.05
    )
    assert tr.method == "dop853, then radau5"
    before, after = tr.pieces
    # No time is covered twice, and the soft part was worth keeping.
    assert before.time[0] == 0.0
    assert 7.0 < before.end.time == after.time[0] < 10.0
    assert after.time[-1] == 20.0
    assert tr.work.steps == before.work.steps + after.work.steps
    inside = np.linspace(0.05, 19.95, 400)
    assert np.abs(tr.at(inside)["x"] - reference.at(inside)["x"]).max() < 2e-5
    assert tr["z"] == pytest.approx(tr["u"], abs=1e-9)
    assert [e.name for e in tr.events] == [e.name for e in reference.events] == ["up"] * 3
    assert [e.time for e in tr.events] == pytest.approx([e.time for e in reference.events], abs=1e-5)
    assert tr["n"][-1] == 3


def test_the_switch_backwards_in_time():
    m = late(-1.0)
    options = {"inputs": {"u": ca.sin(m.time)}, "save_at": np.linspace(0.0, -20.0, 41)}
    tr = dd.simulate(m, (0.0, -20.0), **options)
    reference = dd.simulate(m, (0.0, -20.0), rtol=1e-10, atol=1e-12, method="radau9", **options)
    assert tr.method == "dop853, then radau5"
    assert tr.time.tolist() == options["save_at"].tolist()
    assert tr["x"] == pytest.approx(reference["x"], abs=2e-5)


def test_limits_of_a_run_that_becomes_stiff_are_those_of_the_whole():
    m = late()
    inputs = {"u": ca.sin(m.time)}
    steps = dd.simulate(m, 20.0, inputs=inputs).work.steps
    tr = dd.simulate(m, 20.0, inputs=inputs, max_steps=steps - 5)
    assert (tr.status, tr.work.steps, len(tr.pieces)) == ("step_limit", steps - 5, 2)
    with pytest.raises(dd.SolverError, match="took max_steps"):
        dd.simulate(m, 20.0, inputs=inputs, max_steps=steps - 5, on_stop="raise")


def test_a_prepared_run_and_a_sweep_go_on_as_well():
    m = late()
    ends = dd.simulate(m, 20.0, inputs={"u": ca.sin(m.time)}, save_at=[20.0])
    run = dd.prepare(m, 20.0, inputs={"u": ca.sin(m.time)}, save_at=[10.0, 20.0])
    assert run()[-1, :2] == pytest.approx([ends["x"][-1], 3], abs=1e-9)
    assert run.trajectory().method == "dop853, then radau5"
    # At a constant speed of the fast part the number is the same.
    assert run(p=np.array([2e5]))[-1, 0] == pytest.approx(ends["x"][-1], abs=1e-4)
    swept = dd.sweep(m, 20.0, {"fast": [1e5, 2e5]}, inputs={"u": ca.sin(m.time)}, save_at=[10.0, 20.0])
    assert swept["x"].values[0, -1] == pytest.approx(ends["x"][-1], abs=1e-9)


def test_a_mechanism_that_becomes_stiff_keeps_its_constraint():
    """A pendulum in a medium that turns thick at t = 2: the rest of the run solves the model of index 3 itself."""
    m = pendulum()
    q = m["q"]
    thick = 1e4 * (1 + ca.tanh(20 * (m.time - 2))) / 2
    m.dissipation(thick * ca.sumsqr(m.rate(q)) / 2)
    tr = dd.simulate(m, 6.0)
    reference = dd.simulate(m, 6.0, method="radau5", rtol=1e-9, atol=1e-11)
    assert tr.method == "dop853, then radau5"
    assert max(tr.drift().values()) < 1e-6
    for name in ("q", "q_dot"):
        assert np.abs(tr.at(TIMES[:60])[name] - reference.at(TIMES[:60])[name]).max() < 1e-5
    assert tr["rod"][-1] == pytest.approx(reference["rod"][-1], rel=1e-4)


def test_stiffness_near_the_end_does_not_pay_for_another_method():
    tr = dd.simulate(van_der_pol(1000.0), 0.05)
    assert tr.method == "dop853"


@pytest.mark.parametrize(("rtol", "method"), [(1e-7, "radau9"), (1e-6, "radau5"), (2e-6, "rodas5p")])
def test_the_implicit_method_fits_the_tolerance(rtol, method):
    tr = dd.simulate(van_der_pol(1000.0), 2000.0, rtol=rtol)
    assert (tr.method, tr.success) == (method, True)


def test_no_rosenbrock_method_where_the_matrix_varies_or_the_index_is_higher():
    m = dd.Model("bent pipe")
    x, q = m.state("x", start=4.0), m.algebraic("q", start=1.0)
    m.equation((1 + x**2) * m.der(x), -q)
    m.equation(q + 0.1 * q**3, x, name="outlet")
    assert dd.simulate(m, 2.0, rtol=1e-4).method == "radau5"
    deeper = dd.Model("led")
    x, y, q = deeper.state("x", start=1.0), deeper.state("y", start=1.0), deeper.algebraic("q", start=1.0)
    deeper.equation(deeper.der(x), -(q**3) - q)
    deeper.equation(deeper.der(y), -y)
    deeper.equation(x, y)
    tr = dd.simulate(deeper, 1.0, rtol=1e-4)
    assert (tr.method, tr.success) == ("radau5", True)


def test_the_same_values_are_found_with_samples_events_and_limits():
    m = van_der_pol(1000.0)
    m.event("falls", m["x"] - 1.2, direction=-1)
    tr = dd.simulate(m, 2000.0, save_at=[0.0, 100.0, 2000.0])
    assert tr.method == "radau5"
    assert tr.time.tolist() == [0.0, 100.0, 2000.0]
    assert [e.name for e in tr.events] == ["falls"] * len(tr.events)
    assert tr.events
    assert dd.simulate(m, 2000.0, max_steps=10).status == "step_limit"


def test_algebraic_equations_that_are_not_linear_need_an_implicit_method():
    m = dd.Model("tank")
    h, q = m.state("h", start=4.0), m.algebraic("q", start=1.0)
    m.equation(m.der(h), -q)
    m.equation(q + 0.1 * q**3, h, name="outlet")
    tr = dd.simulate(m, 2.0)
    assert tr.method == "radau5"
    assert tr.notes[0] == "auto: radau5, implicit, because outlet is nonlinear in q"
    assert np.max(np.abs(tr["q"] + 0.1 * tr["q"] ** 3 - tr["h"])) < 1e-6


@pytest.mark.parametrize("rtol", [1e-3, 3e-6, 1e-6])
def test_delayed_signals_are_run_by_radau_at_loose_tolerances_too(rtol):
    m = dd.Model("late tank")
    h, q = m.state("h", start=4.0), m.algebraic("q", start=1.0)
    m.equation(m.der(h), -m.delay(h, 0.5))
    m.equation(q + 0.1 * q**3, h, name="outlet")
    tr = dd.simulate(m, 1.0, rtol=rtol)
    # The method of steps: h = 4 - 4 t, then h = 2 - 4 (t - 1/2) + 2 (t - 1/2)².
    assert (tr.method, tr["h"][-1]) == ("radau5", pytest.approx(0.5, rel=10 * rtol))


def diffusion(cells):
    """A substance diffuses and reacts with another one that is always in balance: an algebraic variable a cell."""
    m = dd.Model("diffusion")
    h = 1 / (cells + 1)
    u = m.state("u", cells, start=(1 + 0.5 * np.sin(2 * np.pi * h * np.arange(1, cells + 1))).tolist())
    v = m.algebraic("v", cells, start=[1.0] * cells)
    around = lambda w: (ca.vertcat(w[1:], w[-1]) - 2 * w + ca.vertcat(w[0], w[:-1])) / h**2  # noqa: E731
    m.equation(m.der(u), 0.01 * around(u) + u * u * v - 2 * u)
    m.equation(0.05 * around(v) + 1.5 * u - u * u * v - 0.1 * v)
    return m


@pytest.mark.wide
def test_many_unknowns_at_a_loose_tolerance_take_bdf():
    m = diffusion(250)
    tr = dd.simulate(m, 2.0, rtol=1e-4, atol=1e-7)
    assert tr.method == "bdf"
    (told,) = records_of(tr, ImplicitChosen)
    assert (told.method, told.unknowns, told.rtol) == ("bdf", 500, 1e-4)
    assert str(told) == (
        f"auto: bdf, implicit, because {told.because}, and steps of 500 unknowns at rtol = 0.0001 are cheapest with "
        "few factorisations"
    )
    radau = dd.simulate(m, 2.0, rtol=1e-4, atol=1e-7, method="radau5")
    assert 2 * tr.work.factorisations < radau.work.factorisations
    assert tr["u"][-1] == pytest.approx(radau["u"][-1], abs=1e-4)
    assert dd.simulate(m, 1.0).method == "radau5"
    assert dd.simulate(diffusion(150), 20.0, rtol=1e-4, atol=1e-7).method == "rodas5p"


def test_a_mechanism_is_reduced_and_stays_explicit():
    tr = dd.simulate(pendulum(), 2.0)
    assert tr.method == "dop853"
    assert max(tr.drift().values()) < 1e-14


@pytest.mark.parametrize("method", ["gauss2", "trapezoidal", "rodas5p", "bdf"])
def test_a_method_below_the_index_is_refused_with_the_reason(method):
    with pytest.raises(dd.InputError) as caught:
        dd.simulate(pendulum(), 1.0, method=method, step=0.01 if method not in ("bdf", "rodas5p") else None)
    text = str(caught.value)
    assert text.startswith(f"The method {method!r} does not solve a model of index 3.")
    assert "rod" in text
    assert "\n  Because " in text
    assert text.endswith('Try: dd.simulate(dd.reduce(m), ...), or method="auto"')


def test_gauss_is_refused_on_index_2():
    known = catalogue.load("cstr")
    with pytest.raises(dd.InputError, match="does not solve a model of index 2"):
        dd.simulate(known.model, known.span, start=known.start, inputs=known.inputs, method="gauss3", step=0.1)


def test_a_tableau_of_ones_own_is_judged_by_its_coefficients():
    own = dd.Tableau([[0.5]], [1.0], [0.5], name="middle")
    with pytest.raises(dd.InputError, match=r"R\(∞\) = -1"):
        dd.simulate(pendulum(), 1.0, method=own, step=0.01)
    tr = dd.simulate(van_der_pol(1.0), 1.0, method=own, step=0.01)
    assert (tr.method, tr.success) == ("middle", True)


def test_derivatives_of_rosenbrock_steps_need_a_constant_matrix():
    m = dd.Model("cone")
    h = m.state("h", start=1.0)
    m.equation(h**2 * m.der(h), -h)
    assert dd.simulate(m, 0.3, method="rodas5p").success
    with pytest.raises(dd.InputError) as caught:
        dd.sensitivities(m, 0.3, method="rodas5p", by="discrete")
    assert str(caught.value) == (
        "The method 'rodas5p' does not fit this model.\n"
        "  the matrix that multiplies the derivatives depends on h\n"
        "  Because steps of a Rosenbrock method are differentiated only where M x' = f(t, x, z) has a constant M.\n"
        '  Try: method="radau5", or m.algebraic variables for the derivatives'
    )


def test_bdf_takes_no_fixed_step():
    with pytest.raises(dd.InputError, match="BDF takes no fixed step"):
        dd.simulate(van_der_pol(1.0), 1.0, method="bdf", step=0.1)


# Published (Test Set for Initial Value Problem Solvers, Car Axis); the multipliers to seven digits.
CAR_AXIS = {
    "position": [0.04934557842754028, 0.49698946023017115, 1.04174252488547, 0.3739110272653],
    "position_dot": [-0.07705836840321485, 0.007446866596327776, 0.01755681574942899, 0.7703410437794031],
    "line": -0.00473688675,
    "bar": -0.00110468041,
}


def test_constrained_mechanisms_are_held_to_a_tenth_of_the_tolerance():
    """Every component of the car axis ends within 100 rtol of the published values, as written and run by auto."""
    known = catalogue.load("car_axis")
    for rtol in (1e-4, 1e-6, 1e-8):
        tr = dd.simulate(known.model, known.span, start=known.start, inputs=known.inputs, rtol=rtol, atol=rtol)
        assert tr.method == "dop853"
        assert ToleranceTightened() in tr.records
        for name, value in CAR_AXIS.items():
            assert np.all(np.abs(tr[name][-1] - value) < 100 * rtol * np.abs(value)), name
    asked = dd.simulate(known.model, known.span, start=known.start, inputs=known.inputs, method="dop853")
    assert ToleranceTightened() not in asked.records


def test_a_start_of_an_implicit_run_is_solved_for_once():
    known = catalogue.load("robertson")
    system = known.model.freeze()
    for _ in range(3):
        dd.simulate(known.model, 1.0, start=known.start, method="radau5")
    assert len(once(system, implicit_start._rows)) == 1
    dd.simulate(known.model, 1.0, start={**known.start, "y": [0.9, 0.0, 0.1]}, method="radau5")
    assert len(once(system, implicit_start._rows)) == 2
