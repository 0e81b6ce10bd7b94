"""Ten mistakes that users make, from the model to the message: what is wrong, the facts, why, and what to try."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def message(call, kind):
    """The text of the error that a call raises, which must be of a kind."""
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def pendulum(start=(1.0, 0.0)):
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=list(start), rate=[0.0, 0.0])
    length = m.parameter("L", 1.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", ca.norm_2(p) - length)
    return m


def test_1_an_equation_is_missing():
    m = dd.Model("motor")
    current, speed, voltage = m.state("current", start=0.0), m.state("speed", start=0.0), m.algebraic("voltage")
    m.equation(0.1 * m.der(current), voltage - 2 * current - 0.5 * speed, name="circuit")
    m.equation(0.01 * m.der(speed), 0.5 * current, name="shaft")
    assert message(lambda: dd.simulate(m, 1.0), dd.ModelError) == (
        "The model has one equation too few.\n"
        "  3 unknowns, 2 equations; undetermined: voltage\n"
        "  the motion is not determined: current, speed, voltage stand in too few equations\n"
        "  Because the equations that contain them are used up by other unknowns.\n"
        "  Try: m.equation(...) for each of them, or declare what comes from outside as m.input(...)"
    )


def test_2_two_equations_say_the_same():
    m = dd.Model("split")
    x, a, b = m.state("x", start=1.0), m.algebraic("a"), m.algebraic("b")
    m.equation(m.der(x), a - b, name="balance")
    m.equation(a + b, x, name="split")
    m.equation(2 * a + 2 * b, 2 * x, name="again")
    assert message(lambda: dd.simulate(m, 1.0), dd.SingularModelError) == (
        "The model cannot be reduced: an equation follows from the others.\n"
        "  split, again: a combination of them says 0 = 0\n"
        "  the motion is not determined: x, a, b are left open\n"
        "  Because two equations then constrain the same unknowns and leave others undetermined.\n"
        "  Try: write something new in the place of one of split, again"
    )


def test_3_given_values_contradict_a_constraint():
    assert message(lambda: dd.initialise(pendulum((0.9, 0.0))), dd.InconsistentStartError) == (
        "rod (L = 1) and the given p = (0.9, 0) disagree by 0.1.\n"
        "  rod: sqrt(p[0]^2 + p[1]^2) - L = 0 is left at -0.1\n"
        "  the nearest values that fit: p = (1, 0)\n"
        "  Because given values are not changed, and no values of the others satisfy the equations.\n"
        '  Try: free=["p[0]"], which becomes 1, or free=["p[1]"], which becomes 0.43589, or parameters={"L": 0.9}'
    )


def test_4_a_run_begins_off_the_constraints():
    m = pendulum()
    text = message(lambda: dd.simulate(m, 1.0, start={"p": [0.9, 0.0]}), dd.InconsistentStartError)
    assert text == (
        "rod (L = 1) and the given p = (0.9, 0) disagree by 0.1.\n"
        "  rod: sqrt(p[0]^2 + p[1]^2) - L = 0 is left at -0.1\n"
        "  the nearest values that fit: p = (1, 0)\n"
        "  Because given values are not changed, and no values of the others satisfy the equations.\n"
        '  Try: start=dd.initialise(m, {...}, free=["p[0]"]), which becomes 1, or free=["p[1]"], which becomes '
        '0.43589, or parameters={"L": 0.9}'
    )
    # The line that is offered works, as do the others.
    mended = dd.simulate(m, 1.0, start=dd.initialise(m, {"p": [0.9, 0.0]}, free=["p[0]"]))
    assert mended["p"][0] == pytest.approx([1.0, 0.0])
    assert dd.simulate(m, 1.0, start={"p": [0.9, 0.0]}, parameters={"L": 0.9}).success
    # A velocity that leaves the constraint is named too.
    text = message(lambda: dd.simulate(m, 1.0, start={"p_dot": [0.5, 0.0]}), dd.InconsistentStartError)
    assert text.startswith("rod differentiated once and the given p[1] = 0, p_dot[0] = 0.5 disagree by 0.5.")
    assert text.endswith('Try: start=dd.initialise(m, {...}, free=["p_dot[0]"]), which becomes 0')


def test_5_a_name_is_misspelt():
    assert message(lambda: dd.simulate(pendulum(), 1.0, parameters={"l": 2.0}), dd.InputError) == (
        "The model 'pendulum' has no parameter 'l'.\n  its parameters are L\n  Try: 'L'"
    )


def test_6_nothing_determines_the_motion():
    """Example (22) of the lecture: two forces for one constraint leave the motion itself open."""
    m = catalogue.load("small_dae", example="savin_22").model
    for verb in (lambda: dd.simulate(m, 1.0), lambda: dd.initialise(m), lambda: dd.reduce(m)):
        assert message(verb, dd.ModelError) == (
            "The model has one equation too few.\n"
            "  4 unknowns, 3 equations; undetermined: force2\n"
            "  the motion is not determined: x1, x2, force1, force2 stand in too few equations\n"
            "  Because the equations that contain them are used up by other unknowns.\n"
            "  Try: m.equation(...) for each of them, or declare what comes from outside as m.input(...)"
        )
    assert sorted(dd.analyse(m).undetermined) == ["force1", "force2", "x1", "x2"]


def test_7_an_input_is_differentiated_in_the_equations():
    m = dd.Model("tracking")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), m.der(u) - x)
    assert dd.simulate(m, 1.0, inputs={"u": m.time})["x"][-1] == pytest.approx(1 - np.exp(-1), abs=1e-6)
    step = dd.signal([0.0, 0.5], [0.0, 1.0])
    assert message(lambda: dd.simulate(m, 1.0, inputs={"u": step}), dd.InputError) == (
        "The input u is a held table, and the model differentiates it once.\n"
        "  signal(2 times from 0 to 0.5, hold)\n"
        "  Because each step of the table would become an impulse.\n"
        '  Try: dd.signal(times, values, kind="spline"), a smooth function of time, inputs={"u": lambda t: ...}, or a '
        "filter, m.equation(T * m.der(y) + y, u) with the state y in the place of u"
    )


def test_8_a_constraint_is_written_twice():
    """Its force is not unique but the motion is: the run goes on, and tells."""
    m = pendulum()
    m.constraint("again", ca.sumsqr(m["p"]) - m["L"] ** 2)
    tr = dd.simulate(m, 1.0, rtol=1e-9)
    assert tr["p"][-1] == pytest.approx(dd.simulate(pendulum(), 1.0, rtol=1e-9)["p"][-1], abs=1e-9)
    assert "redundant constraints: again follows from the others (1 of 2 are independent)" in tr.notes
    told = "the multipliers rod, again are not unique: the smallest that give the same forces are shown, each counted "
    assert told + "in the length of its row" in tr.notes
    report = dd.analyse(m)
    assert set(report.redundant) >= {"rod", "again"}
    assert set(report.non_unique_multipliers) == {"rod", "again"}


def test_9_a_constraint_follows_a_held_table():
    m = dd.Model("crane")
    x, force, path = m.state("x", start=0.0, rate=0.0), m.algebraic("force"), m.input("path")
    m.equation(2.0 * m.der(m.der(x)), force, name="trolley")
    m.equation(x, path, name="rail")
    table = dd.signal([0.0, 1.0], [0.0, 0.5])
    assert message(lambda: dd.simulate(m, 2.0, inputs={"path": table}), dd.InputError) == (
        "The input path is a held table, and the model differentiates it twice.\n"
        "  signal(2 times from 0 to 1, hold)\n"
        "  it stands in rail, which is differentiated\n"
        "  Because each step of the table would become an impulse.\n"
        '  Try: dd.signal(times, values, kind="spline"), a smooth function of time, inputs={"path": lambda t: ...}, or '
        "2 filters T * m.der(y) + y = path one behind the other in the place of path"
    )
    tr = dd.simulate(m, 2.0, inputs={"path": lambda t: 0.25 * (1 - np.cos(t))}, rtol=1e-9)
    assert tr["force"][-1] == pytest.approx(0.5 * np.cos(2.0), abs=1e-9)


def test_10_a_coordinate_has_no_mass():
    m = dd.Model("springs")
    q = m.coordinate("q", 2, start=[0.1, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * m.rate(q)[0] ** 2)
    m.potential_energy(q[0] ** 2 + (q[1] - q[0]) ** 2)
    assert message(lambda: dd.simulate(m, 1.0), dd.SingularModelError) == (
        "The mass matrix is singular: no kinetic energy belongs to q[1].\n"
        "  the rate of q[1] enters no kinetic energy, and q[1] no constraint\n"
        "  Because the acceleration of every coordinate follows from its inertia.\n"
        '  Try: m.kinetic_energy(...) with the rate of q[1], or m.state("q", ...) and m.equation(...) for a part '
        "without mass"
    )


def test_every_message_has_four_parts():
    """What is wrong; the facts; why; what to try."""
    m = pendulum((0.9, 0.0))
    for call in (lambda: dd.initialise(m), lambda: dd.simulate(m, 1.0), lambda: dd.simulate(m, 1.0, start={"q": 1.0})):
        lines = message(call, dd.DaedalusError).splitlines()
        assert len(lines) >= 4
        assert lines[-2].startswith("  Because ")
        assert lines[-1].startswith("  Try: ")


def test_values_over_time_are_answered_with_a_signal():
    import pandas as pd

    m = dd.Model("cart")
    x, force = m.state("x", start=0.0), m.input("F")
    m.equation(m.der(x), force)
    for values in ([1.0, 2.0], np.array([1.0, 2.0]), pd.Series([1.0, 2.0], index=[0.0, 1.0])):
        with pytest.raises(dd.InputError, match="come without their times") as error:
            dd.simulate(m, 1.0, inputs={"F": values})
        assert "dd.signal(" in error.value.remedy


def test_a_drive_that_turns_moves_steadily():
    m = dd.Model("drive")
    angle, speed, u = m.state("angle", start=0.0), m.state("speed", start=0.0), m.input("u")
    m.equation(m.der(angle), speed)
    m.equation(m.der(speed), u - 0.1 * speed)
    with pytest.raises(dd.SolverError, match="moves steadily") as error:
        dd.equilibrium(m, inputs={"u": 1.0})
    assert 'fixed=["angle"], solve_for=["angle_dot"]' in error.value.remedy
    # What is told works.
    found = dd.equilibrium(m, inputs={"u": 1.0}, fixed=["angle"], solve_for=["angle_dot"])
    assert found["speed"] == pytest.approx(10.0)


@pytest.mark.parametrize("by_parts", [False, True])
def test_shafts_that_turn_together_move_steadily(by_parts):
    """Neither angle alone is free, both together are: the rates are told, and what is told works."""
    m = dd.Model("shafts")
    if by_parts:
        parts = dd.components.rotational
        a, b = m.add(parts.Inertia("a", inertia=1.0)), m.add(parts.Inertia("b", inertia=2.0))
        spring, damper = m.add(parts.Spring("s", stiffness=10.0)), m.add(parts.Damper("d", damping=0.1))
        drive, ground = m.add(parts.TorqueSource("t", torque=1.0)), m.add(parts.Ground("g"))
        m.connect(drive.shaft, a.shaft, spring.shaft_a)
        m.connect(spring.shaft_b, b.shaft, damper.shaft_a)
        m.connect(damper.shaft_b, ground.shaft)
        names = "a.angle", "b.angle"
    else:
        a, b = m.state("a", start=0.0, rate=0.0), m.state("b", start=0.0, rate=0.0)
        m.equation(m.der(m.der(a)), 1.0 - 10.0 * ca.sin(a - b))
        m.equation(m.der(m.der(b)), 10.0 * ca.sin(a - b) - 0.1 * m.der(b))
        names = "a", "b"
    with pytest.raises(dd.SolverError, match="moves steadily") as error:
        dd.equilibrium(m)
    assert f"they move together, at {names[0]}_dot = 10, {names[1]}_dot = 10" in str(error.value)
    found = dd.equilibrium(m, fixed=eval(error.value.remedy.removeprefix("fixed=").partition("}")[0] + "}"))
    assert found[names[1] + "_dot"] == pytest.approx(10.0)
    assert found[names[0]] - found[names[1]] == pytest.approx(0.1, rel=0.01)


def rough_four_bar(guessed):
    wrap = dd.guess if guessed else (lambda value: value)
    m = dd.Model("four bar")
    m.gravity([0, -9.81])
    poses = {"crank": ([0.1, 0.1], 0.8), "coupler": ([0.3, 0.4], 0.4), "rocker": ([0.4, 0.2], 1.8)}
    crank, coupler, rocker = (
        m.body(name, 1.0, 0.1, "planar", position=wrap(place), rotation=wrap(angle))
        for name, (place, angle) in poses.items()
    )
    m.joint("a", "revolute", dd.ground, crank, at_b=[-0.1, 0])
    m.joint("b", "revolute", crank, coupler, at_a=[0.1, 0], at_b=[-0.25, 0])
    m.joint("c", "revolute", coupler, rocker, at_a=[0.25, 0], at_b=[0.2, 0])
    m.joint("d", "revolute", dd.ground, rocker, at_a=[0.45, 0], at_b=[-0.2, 0])
    return m


def test_a_mechanism_is_put_together_from_rough_poses():
    given = rough_four_bar(guessed=False)
    with pytest.raises(dd.InconsistentStartError, match="do not fit together at the given poses") as error:
        dd.simulate(given, 0.1)
    assert len(str(error.value).splitlines()) <= 8
    assert 'dd.initialise(m, {...}, free="bodies")' in str(error.value)
    # What is told works, and guesses need no word at all.
    start = dd.initialise(given, free="bodies")
    tr = dd.simulate(given, 0.1, start=start)
    again = dd.simulate(rough_four_bar(guessed=True), 0.1)
    assert max(tr.drift().values()) < 1e-9
    assert max(again.drift().values()) < 1e-9
    np.testing.assert_allclose(again["crank.angle"][0], start["crank.angle"])


def test_a_singular_limit_tells_which_inputs_are_built_in():
    m = dd.Model("lag")
    x, y, e, u = m.state("x", start=1.0), m.state("y", start=0.0), m.parameter("epsilon", 0.01), m.input("u")
    m.equation(m.der(x), -y)
    m.equation(e * m.der(y), x - y + u)
    found = dd.singular_limit(m, "epsilon", 2.0, inputs={"u": 1.0})
    assert found.inputs == ("u",)
    assert "built into the limit, which has no such inputs: u" in str(found)


@pytest.mark.parametrize("wrong", [0, None, ("x", "y"), 1.5])
def test_what_is_no_name_is_answered_with_one(wrong):
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.parameter("k", 1.0)
    m.equation(m.der(x), -x)
    results = dd.simulate(m, 1.0), dd.initialise(m), dd.equilibrium(m), dd.sweep(m, 1.0, over={"k": [1.0]})
    for result in (*results, results[0].at(0.5)):
        with pytest.raises(dd.InputError, match="read by name"):
            result[wrong]


def test_infinite_measurements_are_refused():
    """They counted as missing, and the fit knew nothing of its parameters."""
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -k * x)
    with pytest.raises(dd.InputError, match="has an infinite value"):
        dd.fit(m, {"time": [0.0, 0.5, 1.0], "x": [1.0, np.inf, 0.1]}, ["k"])


@pytest.mark.parametrize("times", [True, [True], [0.0, True], np.array([True]), (0.5, False)])
def test_truth_values_are_no_times(times):
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    with pytest.raises(dd.InputError, match="save_at is a list of times"):
        dd.simulate(m, 1.0, save_at=times)
    with pytest.raises(dd.InputError, match="are not numbers"):
        dd.simulate(m, 1.0).at(times)
