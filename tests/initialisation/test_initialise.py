"""Consistent starts of systems of index 0 to 3, against values worked out by hand."""

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from started_models import GRAVITY, energy_pendulum, four_bar, pendulum, reactor

import daedalus as dd
from daedalus.initialisation import start_equations
from daedalus.model.system.once import kept


def small(start: dd.Start, tolerance: float = 1e-12) -> bool:
    return max(abs(value) for value in start.residual.values()) < tolerance


def test_planar_pendulum_gives_the_rod_force():
    p, v = np.array([0.6, -0.8]), np.array([0.8, 0.6])
    s = dd.initialise(pendulum(2, p, v))
    # From p·p'' + v·v = 0 with p'' = weight + force p.
    force = -(v @ v) + GRAVITY * p[1]
    assert s["force"] == pytest.approx(force, abs=1e-12)
    np.testing.assert_allclose(s.der("v"), [force * p[0], force * p[1] - GRAVITY], atol=1e-12)
    np.testing.assert_allclose(s.der("p"), v, atol=1e-15)
    assert set(s.residual) >= {"rod", "rod, differentiated once", "rod, differentiated twice"}
    assert small(s)
    assert s.free == ()


def test_spatial_pendulum_completes_a_tangential_velocity():
    s = dd.initialise(pendulum(3, [0.6, 0.0, -0.8]), {"v": [1.0, 1.0, None]})
    assert s["v"][2] == pytest.approx(0.75, abs=1e-13)
    assert s["force"] == pytest.approx(-(1 + 1 + 0.75**2) - 0.8 * GRAVITY, abs=1e-12)
    assert s.origin["v"].tolist() == ["given", "given", "computed"]
    assert small(s)


def test_the_same_pendulum_from_energies_agrees():
    one = dd.initialise(pendulum(2, [0.6, -0.8], [0.8, 0.6]))
    two = dd.initialise(energy_pendulum([0.6, -0.8], [0.8, 0.6]))
    np.testing.assert_allclose(two["q_ddot"], one["v_dot"], atol=1e-12)
    # There the force is 2 λ q.
    assert 2 * two["rod"] == pytest.approx(one["force"], abs=1e-12)
    assert two.der("q_dot") == pytest.approx(two["q_ddot"])


def test_freeing_one_component_repairs_a_position_off_the_rod():
    s = dd.initialise(pendulum(2, [0.9, 0.0], [0.0, 0.0]), free=["p[1]"])
    assert s["p"][0] == 0.9
    assert abs(s["p"][1]) == pytest.approx(np.sqrt(1 - 0.81), abs=1e-12)
    assert s.origin["p"].tolist() == ["given", "computed"]
    assert any("slopes of rod vanish at the guess of p[1]" in note for note in s.notes)


def test_guesses_move_as_little_as_possible():
    guess, speed = np.array([0.9, -0.2]), np.array([0.5, 1.0])
    s = dd.initialise(pendulum(2, guess, speed), free=["p", "v"])
    nearest = guess / np.linalg.norm(guess)
    np.testing.assert_allclose(s["p"], nearest, atol=1e-9)
    np.testing.assert_allclose(s["v"], speed - nearest * (nearest @ speed), atol=1e-9)
    assert len(s.free) == 2
    assert small(s)


def test_slopes_that_vanish_at_the_guess_are_told():
    s = dd.initialise(pendulum())
    assert np.linalg.norm(s["p"]) == pytest.approx(1.0, abs=1e-12)
    assert s.notes == ("the slopes of rod vanish at the guess of p[0], p[1]: the search began aside of it",)


def test_a_rod_of_no_length_leaves_its_force_undetermined():
    s = dd.initialise(pendulum(2, [0.0, 0.0], [0.0, 0.0]), parameters={"L": 0.0})
    assert s.undetermined == ("force",)
    assert s.origin["force"] == "guessed"
    assert "not determined by the equations: force" in repr(s)


def test_a_given_force_determines_the_position():
    s = dd.initialise(pendulum(2, [0.6, -0.8], [0.0, 0.0]), {"force": -9.0}, free=["p"])
    assert s["force"] == -9.0
    assert s["p"][1] == pytest.approx(-9.0 / GRAVITY, abs=1e-10)
    assert s["p"][0] > 0
    assert small(s)


def test_given_derivatives_make_a_steady_state():
    m = dd.Model("tank")
    h = m.state("h", start=1.0)
    m.equation(m.der(h), 3.0 - ca.sqrt(h), name="balance")
    s = dd.initialise(m, {"h_dot": 0.0}, free=["h"])
    assert s["h"] == pytest.approx(9.0, abs=1e-9)
    assert s.origin["h_dot"] == "given"
    again = dd.initialise(m, fixed=["h_dot"], free=["h"])
    assert again["h"] == pytest.approx(9.0, abs=1e-9)


def test_circuit_of_resistor_inductor_and_capacitor():
    m = dd.Model("rlc")
    current, charge = m.state("i", start=0.2), m.state("vC", start=1.0)
    resistor, coil, source = m.algebraic("vR"), m.algebraic("vL"), m.input("source")
    m.equation(2.0 * m.der(current), coil, name="coil")
    m.equation(0.5 * m.der(charge), current, name="capacitor")
    m.equation(resistor, 10.0 * current, name="resistor")
    m.equation(resistor + coil + charge, source, name="mesh")
    s = dd.initialise(m, inputs={"source": 5.0})
    assert (s["vR"], s["vL"]) == pytest.approx((2.0, 2.0))
    assert (s.der("i"), s.der("vC")) == pytest.approx((1.0, 0.4))
    unknown = dd.initialise(m)
    assert unknown["vL"] == pytest.approx(-3.0)
    assert unknown.notes == ("source had no value: zero is taken",)


def test_two_capacitors_in_parallel_share_their_voltage():
    m = dd.Model("parallel")
    v, i = m.state("v", 2, start=[2.0, None]), m.algebraic("i", 2)
    m.equation(m.der(v[0]), i[0])
    m.equation(3.0 * m.der(v[1]), i[1])
    m.equation(i[0] + i[1], 4.0, name="node")
    m.equation(v[0] - v[1], name="loop")
    s = dd.initialise(m)
    assert s["v"].tolist() == pytest.approx([2.0, 2.0])
    # Both rise at the same rate: i0 = i1/3, together 4.
    assert s["i"].tolist() == pytest.approx([1.0, 3.0])
    assert "loop, differentiated once" in s.residual


def test_reactor_of_index_two():
    s = dd.initialise(reactor(), {"cA": 0.5, "cC": 0.2})
    assert s["cB"] == pytest.approx(0.25)
    assert s["R2"] == pytest.approx(0.5)
    # cA' = 2 cB' with both balances: 0.5 - R1 = 2 (-0.25 + R1 - 0.5).
    assert s["R1"] == pytest.approx(2.0 / 3.0)
    assert s.der("cA") == pytest.approx(-1.0 / 6.0)
    assert s.der("cA") == pytest.approx(2 * s.der("cB"))
    assert s.origin["cB"] == "computed"


def test_robertson_as_a_dae():
    m = dd.Model("robertson")
    y, z = m.state("y", 2, start=[1.0, 0.0]), m.algebraic("z", start=0.5)
    m.equation(m.der(y[0]), -0.04 * y[0] + 1e4 * y[1] * z)
    m.equation(m.der(y[1]), 0.04 * y[0] - 1e4 * y[1] * z - 3e7 * y[1] ** 2)
    m.equation(y[0] + y[1] + z, 1.0, name="mass")
    s = dd.initialise(m)
    assert s["z"] == 0.0
    np.testing.assert_allclose(s.der("y"), [-0.04, 0.04], atol=1e-16)


def test_linkage_is_assembled_from_an_approximate_pose():
    m = four_bar([1.0, 0.2, 1.2], [1.0, None, None])
    s = dd.initialise(m, free=["a[1]", "a[2]"])
    tip = 0.3 * np.exp(1j * s["a"][0]) + np.exp(1j * s["a"][1]) - 0.9 - 0.8 * np.exp(1j * s["a"][2])
    speed = 0.3 * s["a_dot"][0] * np.exp(1j * s["a"][0]) + s["a_dot"][1] * np.exp(1j * s["a"][1])
    speed -= 0.8 * s["a_dot"][2] * np.exp(1j * s["a"][2])
    assert abs(tip) < 1e-12
    assert abs(speed) < 1e-12
    assert (s["a"][0], s["a_dot"][0]) == (1.0, 1.0)
    # It stays on the branch of the guess.
    assert 0 < s["a"][1] < 0.8
    # The accelerations fulfil the equations of motion too.
    assert small(s, 1e-11)


def test_a_body_on_a_pin_comes_with_its_quaternion_length():
    m = dd.Model("bob")
    m.gravity([0, 0, -GRAVITY])
    body = m.body("bob", mass=2.0, inertia=dd.inertia.box(2.0, [0.1, 0.2, 0.3]), position=[0.1, 0.0, -1.0])
    m.joint("pin", "spherical", dd.ground, body, at_b=[0, 0, 1.0])
    s = dd.initialise(m, free=["bob.position"])
    assert np.linalg.norm(s["bob.quaternion"]) == pytest.approx(1.0, abs=1e-12)
    assert np.linalg.norm(s["bob.position"]) == pytest.approx(1.0, abs=1e-10)
    assert small(s, 1e-11)


def test_nilpotent_system_of_index_three_takes_derivatives_of_its_inputs():
    m = dd.Model("nilpotent")
    x, u = m.state("x", 3), m.input("u", 3)
    m.equation(m.der(x[1]), x[0] + u[0])
    m.equation(m.der(x[2]), x[1] + u[1])
    m.equation(0, x[2] + u[2])
    t = 0.5
    s = dd.initialise(m, inputs={"u": lambda t: ca.vertcat(ca.sin(t), t**2, ca.exp(2 * t))}, time=t)
    x2 = -np.exp(2 * t)
    x1 = 2 * x2 - t**2
    x0 = 4 * x2 - 2 * t - np.sin(t)
    np.testing.assert_allclose(s["x"], [x0, x1, x2], rtol=1e-13)
    np.testing.assert_allclose(s.der("x"), [8 * x2 - 2 - np.cos(t), 4 * x2 - 2 * t, 2 * x2], rtol=1e-13)
    assert s.time == t


def test_hidden_constraint_where_structure_misleads():
    # Example (14): both equations contain x1' + x2', their difference is the hidden constraint x1 + cos x2 + 7 = 0.
    m = dd.Model("example 14")
    x = m.state("x", 2, start=[None, 0.3])
    m.equation(m.der(x[0]) + m.der(x[1]), ca.cos(x[1]) + x[0])
    m.equation(m.der(x[0]) + m.der(x[1]), -7.0)
    s = dd.initialise(m)
    assert s["x"][0] == pytest.approx(-7 - np.cos(0.3), abs=1e-12)
    rates = s.der("x")
    assert rates[0] + rates[1] == pytest.approx(-7.0)
    assert rates[0] == pytest.approx(np.sin(0.3) * rates[1])


def test_parameters_may_change_the_structure():
    m = dd.Model("perturbed")
    x, z, epsilon = m.state("x", start=1.0), m.state("z", start=None), m.parameter("epsilon", 0.1)
    m.equation(m.der(x), z)
    m.equation(epsilon * m.der(z), -z - x, name="fast")
    full = dd.initialise(m)
    limit = dd.initialise(m, parameters={"epsilon": 0.0})
    assert (full["z"], full.der("z")) == pytest.approx((0.0, -10.0))
    assert (limit["z"], limit.der("z")) == pytest.approx((-1.0, 1.0))
    assert dd.initialise(m).der("z") == full.der("z")


def test_redundant_constraints_take_the_smallest_multipliers():
    m = dd.Model("twice")
    q = m.coordinate("q", 2, start=[0.6, -0.8], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(GRAVITY * q[1])
    m.constraint("one", ca.sumsqr(q) - 1)
    m.constraint("two", 2 * ca.sumsqr(q) - 2)
    s = dd.initialise(m)
    alone = dd.initialise(energy_pendulum([0.6, -0.8], [0.0, 0.0]))
    np.testing.assert_allclose(s["q_ddot"], alone["q_ddot"], atol=1e-11)
    # one + 2 two is the multiplier of a single rod; counted in the lengths of the rows both carry half of the force.
    np.testing.assert_allclose([s["one"], s["two"]], alone["rod"] * np.array([1 / 2, 1 / 4]), rtol=1e-10)
    assert any("are not unique: the smallest that give the same forces are shown" in note for note in s.notes)
    begin = dd.simulate(m, 1e-3)
    np.testing.assert_allclose([s["one"], s["two"]], [begin["one"][0], begin["two"][0]], rtol=1e-10)
    assert s.undetermined == ("one", "two")


def test_a_motion_that_nothing_determines_is_named():
    # Example (22): one constraint, two multipliers.
    m = dd.Model("example 22")
    x, force = m.state("x", 2, start=[0.0, 0.0]), m.algebraic("force", 2)
    m.equation(m.der(x), force)
    m.equation(3 * x[0] + 7 * x[1])
    m.equation(6 * x[0] + 14 * x[1])
    s = dd.initialise(m)
    assert set(s.undetermined) == {"force[0]", "force[1]", "x_dot[0]", "x_dot[1]"}
    assert len(s.free) == 1


def test_a_state_without_a_derivative_in_the_equations_gets_one():
    m = dd.Model("algebraic state")
    x, y = m.state("x", start=2.0), m.state("y")
    m.equation(m.der(x), -x)
    m.equation(y, x**2, name="square")
    s = dd.initialise(m)
    assert (s["y"], s.der("y")) == pytest.approx((4.0, -8.0))


def test_expressions_and_tables_drive_inputs():
    m = dd.Model("driven")
    x, u = m.state("x", start=2.0), m.input("u")
    m.equation(m.der(x), u)
    assert dd.initialise(m, inputs={"u": -3 * x}).der("x") == pytest.approx(-6.0)
    assert dd.initialise(m, inputs={"u": dd.signal([0, 1], [1.0, 5.0])}, time=1.5).der("x") == 5.0


def test_a_large_chain_is_solved_sparsely():
    count = 150
    m = dd.Model("chain")
    spots = np.array([[0.6, -0.8]]) * np.arange(1, count + 1)[:, None] / count
    q = m.coordinate("q", 2 * count, start=spots.ravel(), rate=np.zeros(2 * count))
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(GRAVITY * ca.sum1(q[1::2]))
    points = [ca.SX.zeros(2), *(q[2 * k : 2 * k + 2] for k in range(count))]
    m.constraint("rod", ca.vertcat(*(ca.sumsqr(b - a) - 1 / count**2 for a, b in pairwise(points))))
    s = dd.initialise(m)
    assert small(s, 1e-10)
    # The first rod carries the weight of all along its direction: Σ g cos = λ₁ · 2 · length.
    assert -s["rod"][0] * 2 / count == pytest.approx(0.8 * GRAVITY * count, rel=1e-9)


def test_the_second_call_makes_nothing_new():
    m = pendulum(2, [0.6, -0.8], [0.8, 0.6])
    dd.initialise(m)
    before = kept(m.freeze(), start_equations._stack_of)
    dd.initialise(m, {"p": [2.0, 0.0], "v": [0.0, 1.0]}, parameters={"L": 2.0})
    after = kept(m.freeze(), start_equations._stack_of)
    assert len(before) == 1
    assert after[0] is before[0]
    assert len(after) == 1


@pytest.mark.wide
def test_many_loose_guesses_are_projected_sparsely():
    count = 350
    m = dd.Model("pairs")
    x, v, force = m.state("x", 2 * count), m.state("v", 2 * count), m.algebraic("force", count)
    rods = ca.vertcat(*(ca.sumsqr(x[2 * k : 2 * k + 2]) - 1 for k in range(count)))
    m.equation(m.der(x), v)
    m.equation(m.der(v), ca.jtimes(rods, x, force, True))
    m.equation(rods, name="rods")
    guess = np.tile([0.3, 0.6], count)
    s = dd.initialise(m, {"x": guess}, free=["x"])
    np.testing.assert_allclose(s["x"], guess / np.hypot(0.3, 0.6), atol=1e-9)
    assert set(s.origin["x"]) == {"computed"}
    assert small(s, 1e-9)


def test_blocks_are_solved_in_their_order():
    # All at once the huge correction of y holds the search for z up.
    m = dd.Model("cascade")
    x, y, z = m.state("x", start=0.3), m.algebraic("y"), m.algebraic("z", start=-1e4)
    m.equation(m.der(x), y)
    m.equation(y, 1e6 * z, name="gain")
    m.equation(ca.atan(z), x, name="saturation")
    s = dd.initialise(m)
    assert s["y"] == pytest.approx(1e6 * np.tan(0.3), rel=1e-12)


def test_a_remedy_that_runs_away_is_no_remedy():
    """x z = 1 at x = 0: freeing x would make it 1e-10 and z a billion."""
    m = dd.Model("hyperbola")
    x, z = m.state("x", start=0.0), m.algebraic("z")
    m.equation(m.der(x), z)
    m.equation(x * z, 1, name="product")
    with pytest.raises(dd.InconsistentStartError) as caught:
        dd.initialise(m)
    assert str(caught.value).startswith(
        "No consistent start was found.\n"
        "  product: x*z - 1 = 0 is left at -1\n"
        "  no unknown changes product there: the slopes vanish\n"
    )
