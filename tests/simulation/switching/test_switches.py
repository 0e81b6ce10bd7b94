"""Conditions in equations: steps end where they change, whatever the method, and users see none of the machinery."""

import pickle

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus.reduction.switches import switches_of
from daedalus.simulation.result.records_on_the_way import SwitchesLocated

EXPLICIT = ["tsit5", "dop853", "dopri5"]
IMPLICIT = ["radau5", "bdf", "rodas5p"]
METHODS = EXPLICIT + IMPLICIT


def located(tr: dd.Trajectory) -> int:
    """How many switches a run says it located."""
    return records_of(tr, SwitchesLocated)[0].count


def quadrature(rate) -> dd.Model:
    """x' = rate(t), x(0) = 0."""
    m = dd.Model("quadrature")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), rate(m.time))
    return m


def falling() -> dd.Model:
    """x' = -1 above 0.5, -2 below."""
    m = dd.Model("falling")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), ca.if_else(x > 0.5, -1, -2))
    return m


def slowing() -> dd.Model:
    """x' = -x above 0.5, -x² below: x = exp(-t), then 1 / (2 + t - log 2)."""
    m = dd.Model("slowing")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), ca.if_else(x > 0.5, -x, -(x**2)))
    return m


@pytest.mark.parametrize("method", METHODS)
def test_the_step_ends_at_the_switch(method):
    tr = dd.simulate(falling(), 1.0, method=method)
    assert tr.success
    assert located(tr) == 1
    assert np.min(np.abs(tr.time - 0.5)) < 1e-12
    assert tr["x"][-1] == pytest.approx(-0.5, abs=1e-11)
    assert tr.events == []


@pytest.mark.parametrize("method", METHODS)
def test_the_dense_output_has_the_kink(method):
    tr = dd.simulate(falling(), 1.0, method=method, max_step=0.3)
    times = np.linspace(0, 1, 41)
    exact = np.where(times < 0.5, 1 - times, 0.5 - 2 * (times - 0.5))
    assert np.allclose(tr.at(times)["x"], exact, atol=1e-11)
    assert np.allclose(dd.simulate(falling(), 1.0, method=method, save_at=times)["x"], exact, atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_the_error_follows_the_tolerance_across_a_switch(method):
    exact = 1 / (2 + 3 - np.log(2))
    errors = []
    for rtol in (1e-5, 1e-7, 1e-9):
        tr = dd.simulate(slowing(), 3.0, method=method, rtol=rtol, atol=rtol)
        assert np.min(np.abs(tr.time - np.log(2))) < 50 * rtol
        errors.append(abs(tr["x"][-1] - exact))
        assert errors[-1] < 50 * rtol
    assert errors[2] < 1e-2 * max(errors[0], 1e-7)


@pytest.mark.parametrize("method", ["tsit5", "dop853", "radau5"])
def test_far_fewer_steps_are_rejected(method):
    m = quadrature(lambda t: ca.sign(ca.sin(7 * t)) + ca.fabs(ca.cos(3 * t)))
    works = {on: dd.simulate(m, 10.0, method=method, rtol=1e-8, locate_switches=on).work for on in (True, False)}
    assert 5 * works[True].rejected < works[False].rejected
    assert works[True].rhs < works[False].rhs


@pytest.mark.parametrize("method", ["tsit5", "dop853", "radau5", "bdf"])
@pytest.mark.parametrize(
    ("rate", "end", "exact", "switches"),
    [
        (lambda t: ca.fabs(ca.cos(t)), 5.0, 4 + np.sin(5), 2),
        (lambda t: ca.sign(ca.cos(t)), 5.0, 5 - 2 * np.pi, 2),
        (lambda t: ca.fmax(ca.sin(t), 0), 7.0, 3 - np.cos(7), 2),  # the one at the start is no change
        (lambda t: ca.fmin(t, 2.0), 3.0, 4.0, 1),
        (lambda t: ca.if_else(ca.logic_and(t > 1, t < 2), 1.0, 0.0), 3.0, 1.0, 2),
        (lambda t: ca.if_else(ca.logic_not(t >= 1), 1.0, 0.0), 3.0, 1.0, 1),
        (lambda t: ca.if_else(ca.fabs(t - 2) > 1, 1.0, 0.0), 4.0, 2.0, 3),
        (lambda t: ca.if_else(ca.fmax(t - 1, 0) > 0, t, 0.0), 3.0, 4.0, 2),
    ],
)
def test_every_operation_that_switches(method, rate, end, exact, switches):
    tr = dd.simulate(quadrature(rate), end, method=method, rtol=1e-9, atol=1e-11)
    assert tr.success
    assert located(tr) == switches
    assert tr["x"][-1] == pytest.approx(exact, abs=3e-7 if method == "bdf" else 1e-8)


def test_several_switches_in_one_step_happen_in_order():
    m = quadrature(lambda t: ca.if_else(t > 0.3, 4, 0) + ca.if_else(t > 0.1, 1, 0) + ca.if_else(t > 0.2, 2, 0))
    tr = dd.simulate(m, 1.0, method="tsit5", first_step=1.0)
    assert located(tr) == 3
    assert tr["x"][-1] == pytest.approx(0.9 + 1.6 + 2.8, abs=1e-12)
    assert all(np.min(np.abs(tr.time - t)) < 1e-14 for t in (0.1, 0.2, 0.3))


@pytest.mark.parametrize("method", ["tsit5", "radau5"])
def test_two_conditions_at_one_time(method):
    m = quadrature(lambda t: ca.if_else(t > 0.5, 1, 0) + ca.if_else(3 * t > 1.5, 10, 0))
    tr = dd.simulate(m, 1.0, method=method)
    assert located(tr) == 2
    assert tr["x"][-1] == pytest.approx(5.5, abs=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_backwards_in_time(method):
    tr = dd.simulate(falling(), (1.0, 0.0), start={"x": -0.5}, method=method)
    assert located(tr) == 1
    assert tr["x"][-1] == pytest.approx(1.0, abs=1e-11)


def test_a_fixed_step_is_cut_too():
    tr = dd.simulate(falling(), 1.0, method="rk4", step=0.3)
    assert tr["x"][-1] == pytest.approx(-0.5, abs=1e-13)
    assert np.allclose(tr.at([0.25, 0.75])["x"], [0.75, 0.0], atol=1e-12)


# -- algebraic equations ---------------------------------------------------------------------------------------------


def rectifier() -> dd.Model:
    """A source, an ideal diode, a resistor 0.1, and a capacitor with a load: s > 0 is the current of the diode."""
    m = dd.Model("rectifier")
    v, s = m.state("v", start=0.0), m.algebraic("s")
    current, drop = ca.if_else(s > 0, s, 0), ca.if_else(s > 0, 0, s)
    m.equation(m.der(v), current - 0.5 * v)
    m.equation(ca.sin(m.time), drop + 0.1 * current + v)
    m.output("current", current)
    return m


@pytest.mark.parametrize("method", IMPLICIT)
def test_an_ideal_diode(method):
    explicit = dd.Model("by hand")
    v = explicit.state("v", start=0.0)
    explicit.equation(explicit.der(v), ca.fmax(10 * (ca.sin(explicit.time) - v), 0) - 0.5 * v)
    reference = dd.simulate(explicit, 20.0, method="dop853", rtol=1e-12, atol=1e-13)
    tr = dd.simulate(rectifier(), 20.0, method=method, rtol=1e-7, atol=1e-9)
    assert tr.success
    assert located(tr) == located(reference) == 7
    assert tr["v"][-1] == pytest.approx(reference["v"][-1], abs=2e-6)
    assert np.all(tr["current"] >= 0)


@pytest.mark.parametrize("method", IMPLICIT)
def test_a_diode_bridge(method):
    """Four diodes that turn in pairs, with a little leakage: the load sees the absolute value of the source."""
    m = dd.Model("bridge")
    v, left, right = m.state("v", start=0.5), m.algebraic("left"), m.algebraic("right")
    diodes = [m.algebraic(f"d{k}", start=-0.1) for k in range(4)]
    drops = [ca.if_else(s > 0, 0, s) for s in diodes]
    currents = [ca.if_else(s > 0, s, 0) + 1e-6 * drop for s, drop in zip(diodes, drops)]
    for k, voltage in enumerate((left - v, right - v, -left, -right)):
        m.equation(voltage, drops[k] + 0.05 * currents[k], name=f"diode {k}")
    m.equation(left - right, 2 * ca.sin(m.time))
    m.equation(currents[0] + currents[1], currents[2] + currents[3])
    m.equation(m.der(v), currents[0] + currents[1] - 0.3 * v)
    tr = dd.simulate(m, 10.0, method=method)
    assert tr.success
    simple = dd.Model("absolute value")
    w = simple.state("w", start=0.5)
    charge = ca.fmax(ca.fabs(2 * ca.sin(simple.time)) - w, 0) / 0.1
    simple.equation(simple.der(w), charge - 0.3 * w)
    reference = dd.simulate(simple, 10.0, rtol=1e-10)
    assert np.allclose(tr["v"], reference.at(tr.time)["w"], atol=1e-4)


def test_two_diodes_turn_together_behind_a_jump():
    """A full-wave pair on a square source: both modes follow the input at once, with z solved anew."""
    m = dd.Model("pair")
    q, a, b, source = m.state("q", start=0.0), m.algebraic("a"), m.algebraic("b"), m.input("source")
    m.equation(m.der(q), ca.if_else(a > 0, a, 0) + 2 * ca.if_else(b > 0, b, 0))
    m.equation(source, ca.if_else(a > 0, a, 3 * a))
    m.equation(-source, ca.if_else(b > 0, b, 3 * b) + 0.1 * a)
    square = dd.signal([0.0, 1.0], [1.0, -1.0])
    for method in IMPLICIT:
        tr = dd.simulate(m, 2.0, inputs={"source": square}, method=method)
        # a = 1, b off; then a = -1/3, b = 1 + 0.1/3.
        assert tr["q"][-1] == pytest.approx(1 + 2 * (1 + 0.1 / 3), abs=1e-6)
        assert tr["b"][-1] == pytest.approx(1 + 0.1 / 3, abs=1e-6)


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_drag_on_a_constrained_pendulum(method):
    """Index 3, with a drag that grows with the square of the speed: the same as in one coordinate."""
    polar = dd.Model("polar")
    angle, rate = polar.state("angle", start=1.2), polar.state("rate", start=0.0)
    polar.equation(polar.der(angle), rate)
    polar.equation(polar.der(rate), -9.81 * ca.sin(angle) - 0.5 * rate * ca.fabs(rate))
    reference = dd.simulate(polar, 3.0, rtol=1e-11, atol=1e-13)
    m = dd.Model("rod")
    q = m.coordinate("q", 2, start=[np.sin(1.2), -np.cos(1.2)], rate=[0, 0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("length", ca.sumsqr(q) - 1)
    spin = q[0] * m.rate(q)[1] - q[1] * m.rate(q)[0]
    m.generalised_force(q, 0.5 * spin * ca.fabs(spin) * ca.vertcat(q[1], -q[0]))
    tr = dd.simulate(m, 3.0, method=method, rtol=1e-8, atol=1e-10)
    assert located(tr) == located(reference) == 2
    assert tr["q"][-1, 0] == pytest.approx(np.sin(reference["angle"][-1]), abs=1e-7)


# -- conditions that protect -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["tsit5", "dop853", "radau5"])
def test_a_contact_with_a_power_law_keeps_its_energy(method):
    """Nothing may be evaluated beyond the condition: a negative number to the power 1.5 is NaN."""
    m = dd.Model("contact")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    dent = ca.fmax(-h, 0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), 1e3 * dent**1.5 - 9.81)
    m.output("energy", 0.5 * v**2 + 9.81 * h + 400 * dent**2.5)
    tr = dd.simulate(m, 3.0, method=method, rtol=1e-9, atol=1e-11)
    assert tr.success
    assert located(tr) >= 4
    assert np.max(np.abs(tr["energy"] - 9.81)) < 1e-6


@pytest.mark.parametrize("method", ["tsit5", "radau5"])
def test_a_root_behind_a_condition(method):
    m = dd.Model("drain")
    h = m.state("h", start=-0.25)
    m.equation(m.der(h), ca.if_else(h > 0, 1 + ca.sqrt(h), 1))
    tr = dd.simulate(m, 1.25, method=method, rtol=1e-8, atol=1e-10)
    # Above zero, with r = sqrt(h): 2 (r - log(1 + r)) is the time since t = 0.25.
    r = np.sqrt(tr["h"][-1])
    assert 2 * (r - np.log(1 + r)) == pytest.approx(1.0, abs=1e-5)


# -- jumps -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["tsit5", "radau5"])
def test_a_condition_on_an_input_follows_its_jumps(method):
    m = dd.Model("valve")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), ca.if_else(u > 0, 1, 0))
    table = dd.signal([0.0, 1.0, 1.5, 3.0], [1.0, 0.0, 2.0, -1.0])
    tr = dd.simulate(m, 4.0, inputs={"u": table}, method=method)
    assert tr["x"][-1] == pytest.approx(2.5, abs=1e-11)
    assert np.allclose(tr.at([0.5, 1.2, 2.0, 3.5])["x"], [0.5, 1.0, 1.5, 2.5], atol=1e-10)


@pytest.mark.parametrize("method", ["tsit5", "radau5"])
def test_a_reset_changes_a_condition(method):
    m = dd.Model("saw")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), ca.if_else(x > 0.5, 2, 1))
    m.event("back", x - 1, direction=1, reset={"x": 0.0})
    tr = dd.simulate(m, 1.0, method=method)
    # 0.5 s to the switch, 0.25 s to the reset, 0.25 s again.
    assert [e.name for e in tr.events] == ["back"]
    assert tr.events[0].time == pytest.approx(0.75, abs=1e-11)
    assert tr["x"][-1] == pytest.approx(0.25, abs=1e-10)


def test_a_start_on_the_switch_takes_the_condition_as_it_is():
    m = dd.Model("edge")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), ca.if_else(x > 0, 3, 1))
    assert dd.simulate(m, 1.0, method="tsit5")["x"][-1] == pytest.approx(3.0, abs=1e-9)
    rest = dd.Model("rest")
    v = rest.state("v", start=0.0)
    rest.equation(rest.der(v), -ca.sign(v))
    still = dd.simulate(rest, 1.0, method="tsit5")
    assert still.success
    assert np.all(still["v"] == 0)


# -- what users see --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["tsit5", "dop853", "radau5", "bdf"])
def test_a_plain_sign_of_the_speed_comes_to_rest(method):
    m = dd.Model("block")
    x, v = m.state("x", start=0.0), m.state("v", start=1.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -2 * ca.sign(v))
    tr = dd.simulate(m, 3.0, method=method)
    assert tr.success
    assert [piece.time[0] for piece in tr.pieces] == pytest.approx([0.0, 0.5], abs=1e-9)
    assert tr["x"][-1] == pytest.approx(0.25, abs=1e-7)


def test_parameters_alone_are_no_switch():
    m = dd.Model("either")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), ca.if_else(k > 0, -x, ca.fabs(k)))
    assert switches_of(m.freeze()) is None
    tr = dd.simulate(m, 1.0)
    assert not records_of(tr, SwitchesLocated)


def test_equal_conditions_share_a_mode():
    m = dd.Model("shared")
    x = m.state("x", start=1.0)
    y = m.state("y", start=0.0)
    m.equation(m.der(x), ca.if_else(x > 0.5, -1, -2))
    m.equation(m.der(y), ca.fmax(x, 0.5) + ca.if_else(x <= 0.5, 0, 1) + ca.fabs(y))
    assert switches_of(m.freeze()).conditions == ("x > 0.5", "y > 0")


def test_turned_off_nothing_is_located():
    tr = dd.simulate(falling(), 1.0, method="tsit5", locate_switches=False)
    assert not records_of(tr, SwitchesLocated)
    assert np.min(np.abs(tr.time - 0.5)) > 1e-9
    assert tr.work.rejected > 0 == dd.simulate(falling(), 1.0, method="tsit5").work.rejected


@pytest.mark.parametrize("method", ["tsit5", "radau5", "radau9", "bdf", "rodas5p"])
@pytest.mark.parametrize(
    ("rate", "exact"),
    [
        (lambda t: ca.floor(t), 1 + 2 + 3 * 0.5),
        (lambda t: ca.fmod(t, 1.0), 3 * 0.5 + 0.125),
        (lambda t: ca.remainder(t, 1.0), 0.125),
        (lambda t: ca.if_else(ca.fmod(t, 1.0) > 0.5, t, 0.0), (1 - 0.25 + 4 - 2.25 + 9 - 6.25) / 2),
        (lambda t: ca.sqrt(ca.fmax(t - 1, 0)), 2 / 3 * 2.5**1.5),
    ],
)
def test_stairs_of_time_are_located(method, rate, exact):
    """Equations between two stairs are smooth: a step never sees the value behind its end."""
    tr = dd.simulate(quadrature(rate), 3.5, method=method, rtol=1e-8, atol=1e-10)
    assert tr["x"][-1] == pytest.approx(exact, abs=1e-6)
    assert tr.work.rejected < 20


@pytest.mark.parametrize("method", ["auto", "dop853", "radau5", "bdf"])
def test_no_step_passes_over_a_pulse(method):
    """A step of 100 would see nothing of a pulse of 1e-2, and nothing tells it to look."""
    m = quadrature(lambda t: ca.if_else(ca.logic_and(t > 41.0, t < 41.01), 100.0, 0.0))
    for span, wanted in ((100.0, 1.0), ((100.0, 0.0), -1.0)):
        tr = dd.simulate(m, span, method=method)
        assert tr["x"][-1] == pytest.approx(wanted, abs=1e-5)
        assert np.min(np.abs(tr.time - 41.0)) < 1e-12
    assert dd.prepare(m, 100.0, method=method)()[-1, 0] == pytest.approx(1.0, abs=1e-5)


def test_times_of_conditions_follow_the_parameters():
    m = dd.Model("late")
    x, begin = m.state("x", start=0.0), m.parameter("begin", 1.0)
    m.equation(m.der(x), ca.if_else(m.time > begin, 1, 0))
    assert [float(dd.simulate(m, 3.0, parameters={"begin": b})["x"][-1]) for b in (1.0, 2.5)] == pytest.approx([2, 0.5])
    run = dd.prepare(m, 3.0)
    assert [run(p=np.array([b]))[-1, 0] for b in (1.0, 2.5)] == pytest.approx([2, 0.5])


def test_too_many_times_are_refused_in_words():
    with pytest.raises(dd.SolverError, match="Conditions on time change too often to be located"):
        dd.simulate(quadrature(lambda t: ca.floor(1e6 * t)), 1.0, method="tsit5")


def test_a_kink_that_a_state_rests_on_does_not_end_a_run():
    """Two levels that become equal: |a - b| has both signs by rounding, and both say the same."""
    m = dd.Model("levels")
    a, b = m.state("a", start=1.0), m.state("b", start=0.0)
    flow = 1e3 * ca.if_else(a - b > 0, 1.0, 2.0) * (a - b)
    m.equation(m.der(a), -flow)
    m.equation(m.der(b), flow)
    for method in ("radau5", "radau9", "bdf"):
        tr = dd.simulate(m, 100.0, method=method, rtol=1e-8)
        assert tr.success, tr.stop_reason
        assert tr["a"][-1] == pytest.approx(0.5, abs=1e-7)


def driven_by(path):
    """x = path(t) with x' = force."""
    m = dd.Model("driven")
    x, force = m.state("x", start=0.0), m.algebraic("force")
    m.equation(m.der(x), force)
    m.equation(x, path(m.time), name="path")
    return m


def test_a_pulse_in_a_constraint_is_not_differentiated():
    """The reduced model would have force = 0 for ever; behind the span nothing is lost."""
    m = driven_by(lambda t: ca.if_else(ca.fabs(t - 5) < 1, 1, 0))
    with pytest.raises(dd.SolverError, match="needs derivatives of what jumps"):
        dd.simulate(m, 10.0, method="tsit5")
    assert dd.simulate(m, 3.0, method="tsit5").success


@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5"])
def test_a_triangle_in_a_constraint_is_differentiated_once(method):
    """It has no jump, so that its derivative has no impulse: both ways give the same."""
    tr = dd.simulate(driven_by(lambda t: ca.fmax(0, 1 - ca.fabs(t - 5))), 10.0, max_step=0.2, method=method)
    assert np.allclose(tr.at([4.5, 5.5])["x"], 0.5, atol=1e-6)
    assert np.allclose(tr.at([4.5, 5.5])["force"], [1, -1], atol=1e-5)


def test_modes_are_not_seen(tmp_path):
    m = falling()
    k = m.parameter("k", 3.0)
    m.output("branch", ca.if_else(m["x"] > 0.5, 1, 2) * k)
    tr = dd.simulate(m, 1.0, method="tsit5")
    assert tr.system is m.freeze()
    assert tr.system.labels["p"] == ("k",)
    assert "modes of the switches" not in tr
    assert tr["branch"][0] == 3
    assert tr["branch"][-1] == 6
    assert np.all(tr["k"] == 3)
    assert np.all(tr["x_dot"][tr.time < 0.4] == -1)
    tr.save(tmp_path / "run.nc")
    for again in (dd.load(tmp_path / "run.nc"), pickle.loads(pickle.dumps(tr))):
        assert again.at(0.8)["x"] == tr.at(0.8)["x"]
        assert again.records == tr.records


def test_prepared_runs_and_sweeps_locate_too():
    m = dd.Model("level")
    x, c = m.state("x", start=1.0), m.parameter("c", 0.5)
    m.equation(m.der(x), ca.if_else(x > c, -1, -2))
    run = dd.prepare(m, 1.0, method="tsit5", save_at=[1.0])
    assert run.labels["p"] == ("c",)
    assert run(p=np.array([0.75]))[0, 0] == pytest.approx(0.75 - 2 * 0.75, abs=1e-12)
    assert located(run.trajectory()) == 1
    off = dd.prepare(m, 1.0, method="tsit5", save_at=[1.0], locate_switches=False).trajectory()
    assert off.work.rejected > 0
    ensemble = dd.sweep(m, 1.0, over={"c": [0.2, 0.4, 0.6]}, method="tsit5")
    assert np.allclose(ensemble["x"][:, -1], [c - 2 * c for c in (0.2, 0.4, 0.6)], atol=1e-11)


def test_a_python_function_as_input_of_an_implicit_run():
    m = dd.Model("driven")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), ca.if_else(x > 1, 0, u))
    for method in ("tsit5", "radau5"):
        tr = dd.simulate(m, 2.0, inputs={"u": lambda t: float(np.round(2.0))}, method=method)
        assert tr["x"][-1] == pytest.approx(1.0, abs=1e-9)


def test_a_model_without_conditions_is_run_as_before():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    on, off = (dd.simulate(m, 1.0, method="tsit5", locate_switches=flag) for flag in (True, False))
    assert np.array_equal(on["x"], off["x"])
    assert on.notes == off.notes


@pytest.mark.parametrize(("shift", "turn", "located"), [(0.0, 1.0, [1, 0]), (0.7, 0.5, [0, 0])])
def test_a_run_records_which_conditions_the_motion_turned(shift, turn, located):
    """One that a discrete variable turns, and one inside another, were not led to zero by the motion."""
    m = dd.Model("two in a row")
    x, z = m.state("x", start=0.0), m.algebraic("z")
    k = m.discrete("k", start=0.0)
    m.equation(m.der(x), 1.0)
    m.equation(z + 0.1 * ca.sin(z), ca.if_else(x - 1 + k > 0, 2.0, 1.0))
    y = m.state("y", start=0.0)
    m.equation(m.der(y), ca.if_else(z > 1.5, 3.0, 0.0))
    m.when(m.time >= 0.5, {"k": shift})
    for method in ("radau5", "bdf"):
        modes = dd.simulate(m, 2.0, method=method).run_data.held_modes
        assert modes.conditions == ("x - 1 + k > 0", "z > 1.5")
        when = modes.held.times[modes.held.values.all(axis=1)][0]
        assert when == pytest.approx(turn, abs=1e-12)
        assert modes.located[modes.held.times == when].any(axis=0).tolist() == located


def test_a_run_records_which_events_the_motion_led_to_zero():
    """Others have guards that jump where a condition in them turns, or times that are known beforehand."""
    m = dd.Model("four causes")
    x, n = m.state("x", start=0.0), m.discrete("n", start=0.0)
    m.equation(m.der(x), 1.0)
    m.when(x > 0.3, {"n": n + 1}, name="led")
    m.when(ca.if_else(x > 0.5, 1.0, -1.0) > 0, {"n": n + 1}, name="jumps")
    m.when(n > 1.5, {"x": x + 0.1}, name="follows")
    m.when(m.time > 0.7, {"n": n + 1}, name="known")
    for method in ("auto", "radau5", "bdf"):
        events = dd.simulate(m, 1.0, method=method).run_data.plant.system.events
        told = dd.simulate(m, 1.0, method=method).outcome.events
        assert [(events[e.event].name, e.led) for e in told] == [
            ("led", True), ("jumps", False), ("follows", False), ("known", False),
        ]  # fmt: skip
