"""How implicit runs end early: the time, the variable and what to try, for every way there is."""

import _thread
import threading

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.ending import Obstacle


def model(right_side, equation, start=1.0, guess=None):
    """x' = right_side(x, z, t), 0 = equation(x, z, t)."""
    m = dd.Model("two")
    x = m.state("x", start=start)
    z = m.algebraic("z", **({} if guess is None else {"start": guess}))
    m.equation(m.der(x), right_side(x, z, m.time), name="motion")
    m.equation(equation(x, z, m.time), name="balance")
    return m


def decay():
    return model(lambda x, z, t: z, lambda x, z, t: z + x)


def fold(at=1.0):
    """z² = -x has no solution once x passes zero."""
    return model(lambda x, z, t: 1.0, lambda x, z, t: z**2 + x, start=-at, guess=1.0)


def stopped(m, span=2.0, **options):
    tr = dd.simulate(m, span, method=options.pop("method", "radau5"), **options)
    assert not tr.success
    return tr


@pytest.mark.parametrize("method", ["radau3", "radau5"])
def test_step_too_small(method):
    tr = stopped(model(lambda x, z, t: z, lambda x, z, t: z - x**2), method=method)
    assert tr.status == "step_too_small"
    assert (tr.stop.what, tr.stop.facts[0]) == ("step size fell below 2.2e-15 at t = 1", "largest scaled error in z")
    assert tr.stop.remedy == "a shorter span if the solution diverges there, or an event where the equations jump"
    assert tr.stop.variables == ("z",)
    assert tr.time[-1] == pytest.approx(1.0, abs=1e-6)


def test_a_first_step_too_small_for_the_time_says_so():
    """A decay within 1e-9 s can be resolved at t = 0, not at t = 14400, where numbers are 2e-12 apart."""
    fast = model(lambda x, z, t: 1e9 * z, lambda x, z, t: z + x)
    tr = stopped(fast, (14400.0, 14410.0), method="bdf", rtol=1e-8, atol=1e-11)
    assert tr.stop_reason == (
        "step size fell below 3.2e-11 at t = 14400; largest scaled error in x; "
        "try a larger atol for x, or a time that begins at 0, where shorter steps can be told apart"
    )
    assert dd.simulate(fast, 10.0, method="bdf", rtol=1e-8, atol=1e-11).success


def test_newton_failed_at_a_fold():
    tr = stopped(fold())
    assert tr.status == "stuck"
    assert tr.stop.obstacle is Obstacle.IMPASSE
    assert tr.stop.facts[:2] == (
        "Newton's method does not converge at t = 1 with steps down to 2.2e-15",
        "largest correction in z",
    )
    assert len(tr.stop.facts) == 3
    assert tr.stop.remedy == "an event that ends the run before it, or what was neglected and makes z a state"
    assert tr.time[-1] == pytest.approx(1.0, abs=1e-9)


def test_newton_failed_at_fixed_step():
    """The step from 0.99 leads well behind the fold: z = 0.1 there is no sign of one."""
    tr = stopped(fold(), step=0.03)
    assert tr.status == "newton_failed"
    assert tr.stop.sentence == (
        "Newton's method does not converge at t = 0.99 with the step 0.03; largest correction in z; Newton failed once"
    )


def test_a_fixed_step_that_ends_at_a_fold():
    """Just before it, by more than rounding: there z = 1e-5 exists, and what comes next does not."""
    tr = stopped(fold(1 + 1e-10), step=0.01)
    assert tr.status == "stuck"
    assert (tr.stop.obstacle, tr.stop.equations, tr.stop.variables) == (Obstacle.IMPASSE, ("balance",), ("z",))
    assert tr.stop.facts[0] == "Newton's method does not converge at t = 1 with the step 0.01"
    assert tr["z"][-1] == pytest.approx(1e-5, rel=1e-4)


def test_names_of_parts_are_whole():
    pump = dd.Model("pump")
    level = pump.state("level", start=-1.0)
    pressure = pump.algebraic("pressure", start=1.0)
    pump.equation(pump.der(level), 1.0)
    pump.equation(pressure**2 + level, 0.0)
    plant = dd.Model("plant")
    plant.include("pump", pump)
    stop = stopped(plant).stop
    assert stop.variables == ("pump.pressure",)
    assert "largest correction in pump.pressure" in stop.facts


def test_singular():
    # Nothing determines z behind the switch; x keeps the Jacobian from being reused.
    m = model(lambda x, z, t: 30 * ca.sin(5 * x) * ca.cos(9 * t), lambda x, z, t: ca.if_else(t < 0.5, z - x, 0.0))
    for tr in (stopped(m), stopped(m, locate_switches=False)):
        assert tr.status == "singular"
        assert tr.stop.time == pytest.approx(0.5, abs=0.1)
        assert tr.stop.what == f"the matrix of the step is singular at t = {tr.stop.time:.6g}"
        assert tr.stop.facts[0] == "the equations do not determine z there"
        assert tr.stop.variables == ("z",)
        assert tr.stop.remedy == "dd.analyse(m, at=tr.at(tr.time[-1])), which names what is not determined"


VALVES = {
    "held table": dd.signal([0.0, 1.0], [1.0, 0.0], kind="hold"),
    "linear table": dd.signal([0.0, 1.0, 3.0], [1.0, 0.0, 0.0], kind="linear"),
    "function": lambda t: float(np.interp(t, [0.0, 1.0, 3.0], [1.0, 0.0, 0.0])),
}


def gate():
    m = dd.Model("gate")
    x, z, u = m.state("x", start=0.0), m.algebraic("z", start=1.0), m.input("u")
    m.equation(m.der(x), z - x, name="fill")
    m.equation(u * (z - 1), name="valve")
    return m


@pytest.mark.parametrize("method", ["radau3", "radau5", "radau9", "bdf", "rodas5p"])
@pytest.mark.parametrize("kind", VALVES)
def test_an_equation_that_turns_into_0_equals_0(method, kind):
    tr = dd.simulate(gate(), 3.0, inputs={"u": VALVES[kind]}, method=method)
    assert tr.status == "singular"
    assert tr.stop.what == "the matrix of the step is singular at t = 1"
    assert tr.stop.facts[0] == "the equations do not determine z there"


@pytest.mark.parametrize("method", ["radau3", "radau5", "radau9", "bdf", "rodas5p"])
def test_it_is_noticed_without_a_jump_too(method):
    """The Jacobian of an earlier step would go on and on."""
    m = gate()
    run = {"method": method, "inputs": {"u": ca.fmax(1 - m.time, 0) ** 3}, "locate_switches": False}
    tr = dd.simulate(m, 3.0, **run)
    assert tr.status == "singular"
    assert tr.stop.variables == ("z",)
    assert dd.simulate(m, 0.9, **run).success


def test_not_finite_names_the_equation():
    tr = stopped(model(lambda x, z, t: -1 - z, lambda x, z, t: z - ca.sqrt(x)))
    assert tr.status == "not_finite"
    assert tr.stop.equations == ("balance",)
    assert tr.stop.time == pytest.approx(0.6137, abs=1e-4)
    assert tr.stop_reason == "; ".join([f"balance is not finite at t = {tr.stop.time:.6g}", *tr.stop.facts])


def test_max_steps():
    tr = stopped(decay(), max_steps=3)
    assert tr.status == "step_limit"
    assert tr.stop.what == f"took max_steps = 3 steps and got to t = {tr.time[-1]:.6g}"
    assert tr.stop.remedy == "a larger max_steps, a looser rtol, or a method for stiff systems"
    assert tr.work.steps == 3


def test_time_limit():
    tr = stopped(decay(), 1e9, time_limit=1e-9)
    assert tr.status == "time_limit"
    assert tr.stop.what == f"ran for time_limit = 1e-09 s and got to t = {tr.stop.time:.6g}"


def test_the_keyboard():
    # Compiled before, so that the key comes while the run is under way; short steps keep it busy until then.
    m = decay()
    assert dd.simulate(m, 1.0, method="radau5", step=1e-3, save_at=[1.0]).success
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    tr = stopped(m, 1e9, step=1e-3, save_at=[1e9])
    timer.join()
    assert tr.status == "interrupted"
    assert tr.stop_reason == f"interrupted by the user at t = {tr.stop.time:.6g}"


def test_an_error_says_what_to_try_once():
    with pytest.raises(dd.SolverError) as caught:
        dd.simulate(fold(), 2.0, method="radau5", on_stop="raise")
    text = str(caught.value)
    assert text.startswith("The run of 'two' stopped early.\n  the algebraic equations become singular at t = 1")
    assert "; Newton's method does not converge at t = 1" in text
    assert text.lower().count("try") == 1
    assert caught.value.trajectory.status == "stuck"
