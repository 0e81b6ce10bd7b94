"""The mechanical structure as functions, constrained accelerations with redundant constraints, and known motions."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd
from daedalus.model.mechanics.constrained_accelerations import solve_accelerations

G = 9.81


def two_links(redundant=0):
    """Two planar links, the second also held by a rod; `redundant` extra copies of the rod."""
    m = dd.Model("links")
    m.gravity([0, -G])
    a = m.body("a", 1.0, 0.1, "planar", position=[0.5, 0], rotation=0.0, angular_velocity=0.4, velocity=[0, 0.2])
    b = m.body("b", 2.0, 0.2, "planar", position=[1.5, 0], rotation=0.0)
    m.joint("one", "revolute", dd.ground, a, at_b=[-0.5, 0])
    m.joint("two", "revolute", a, b, at_a=[0.5, 0], at_b=[-0.5, 0])
    for k in range(redundant):
        m.joint(f"again{k}", "revolute", a, b, at_a=[0.5, 0], at_b=[-0.5, 0])
    return m


def test_functions_belong_to_the_equations():
    """M v' + h − τ − Gᵀλ and the constraint at the level of accelerations, against the frozen residual."""
    m = two_links()
    f, system = m.mechanics(), m.freeze()
    random = np.random.default_rng(0)
    x, rates, multipliers = random.standard_normal(12), random.standard_normal(12), random.standard_normal(4)
    position = {label: k for k, label in enumerate(system.labels["x"])}
    q, v = ([position[label] for label in labels] for labels in (f.positions, f.velocities))
    arguments = [0.0, x[q], x[v], [], [], []]
    mass, bias, force, jacobian = (g(*arguments).full() for g in (f.M, f.h, f.tau, f.G))
    left = mass @ rates[v] + (bias - force).ravel() - jacobian.T @ multipliers
    residual = system.function(0, rates, x, multipliers, [], []).full().ravel()
    rows = [k for k, label in enumerate(system.equation_labels) if label.startswith("motion of")]
    assert residual[rows] == pytest.approx(left, abs=1e-13)
    assert f.N(*arguments).full() @ x[v] == pytest.approx(f.q_dot(*arguments).full().ravel())


def test_gamma_is_what_differences_of_the_constraints_say():
    m = two_links()
    f = m.mechanics()
    t, q, v, u, p, other = f.arguments()
    q, v = q + 0.1, v + np.arange(6.0)
    h = 1e-4

    def c_dot(s):
        """Along q + s v, whose second derivative is zero."""
        return f.c_dot(t, q + s * v, v, u, p, other).full().ravel()

    assert -(c_dot(h) - c_dot(-h)) / (2 * h) == pytest.approx(f.gamma(t, q, v, u, p, other).full().ravel(), abs=1e-5)


def test_labels_and_sizes():
    f = two_links().mechanics()
    assert f.positions == ("a.position[0]", "a.position[1]", "a.angle", "b.position[0]", "b.position[1]", "b.angle")
    assert f.rates[2] == "a.angular_velocity_dot"
    assert f.multipliers == ("one[0]", "one[1]", "two[0]", "two[1]")
    assert f.other_labels == ()
    assert f.M.sparsity_out(0).is_diag()


def test_functions_are_kept_until_the_model_changes():
    m = two_links()
    assert m.mechanics() is m.mechanics()
    before = m.mechanics()
    m.bodies["a"].apply_torque(1.0)
    assert m.mechanics() is not before


def test_redundant_constraints_are_accepted_and_named():
    plain, twice = two_links().mechanics().accelerations(), two_links(redundant=2).mechanics().accelerations()
    assert plain.redundant == ()
    assert twice.redundant == ("again0[0]", "again0[1]", "again1[0]", "again1[1]")
    assert twice.rates == pytest.approx(plain.rates, abs=1e-11)
    # The smallest multipliers share the load.
    assert twice["again0"] == pytest.approx(plain["two"] / 3, abs=1e-11)
    assert twice.contradiction < 1e-12


def test_a_door_hung_by_two_hinges():
    m = dd.Model("door")
    m.gravity([0, 0, -G])
    box = dd.inertia.box(10.0, 1.0, 0.04, 2.0)
    leaf = m.body("leaf", 10.0, box, position=[0.5, 0, 1], velocity=[0, 1.0, 0], angular_velocity=[0, 0, 2.0])
    for name, z in (("upper", 1.8), ("lower", 0.2)):
        m.joint(name, "revolute", dd.ground, leaf, at_a=[0, 0, z], at_b=[-0.5, 0, z - 1.0], axis_a=[0, 0, 1])
    found = m.mechanics().accelerations()
    assert len(found.redundant) == 5
    assert found["leaf.velocity_dot"] == pytest.approx([-0.5 * 4.0, 0, 0], abs=1e-10)
    assert (found["upper"] + found["lower"])[:3] == pytest.approx([-20.0, 0, 10 * G], abs=1e-9)


def test_contradicting_constraints_are_reported():
    m = dd.Model("m")
    q = m.coordinate("q")
    m.kinetic_energy(0.5 * m.rate(q) ** 2)
    m.constraint("one", q - m.time**2)
    m.constraint("two", q + m.time**2)
    assert m.mechanics().accelerations().contradiction == pytest.approx(2.0)


def test_a_mass_matrix_that_is_singular():
    m = dd.Model("m")
    q, massless = m.coordinate("q"), m.coordinate("massless")
    m.kinetic_energy(0.5 * m.rate(q) ** 2 + 0.5 * massless**2 * m.rate(massless) ** 2)
    m.potential_energy(q * massless)
    with pytest.raises(dd.SingularModelError) as caught:
        m.mechanics().accelerations()
    assert str(caught.value) == (
        "The mass matrix does not determine the accelerations here.\n"
        "  smallest eigenvalue 0 of the mass matrix, scaled, along what the constraints leave free\n"
        "  undetermined: massless_ddot\n"
        "  Because no kinetic energy belongs to a motion that the constraints allow.\n"
        "  Try: m.kinetic_energy(...) with these rates, or a constraint that fixes them"
    )
    assert m.mechanics().accelerations({"massless": 1.0})["q_ddot"] == -1.0
    # What a constraint ties to a mass needs none of its own.
    m.constraint("tie", massless - 2 * q)
    assert m.mechanics().accelerations()["massless_ddot"] == pytest.approx(0.0)


@given(st.integers(1, 6), st.integers(0, 4), st.integers(0, 1000))
def test_the_solution_solves_the_saddle_point_system(n, rows, seed):
    random = np.random.default_rng(seed)
    root = random.standard_normal((n, n))
    mass, force = root @ root.T + 0.1 * np.eye(n), random.standard_normal(n)
    jacobian = random.standard_normal((rows, n))
    if rows > 1:
        jacobian[-1] = 2 * jacobian[0]
    right = jacobian @ random.standard_normal(n)
    m = dd.Model("m")
    m.coordinate("q", n) if n > 1 else m.coordinate("q")
    for k in range(rows):
        m.algebraic(f"z{k}")
    m.kinetic_energy(0.5 * ca.sumsqr(m["q_dot"]))
    for k in range(rows):
        m.equation(m[f"z{k}"], m["q"][0] if n > 1 else m["q"])
    labels = tuple(f"q_ddot[{k}]" for k in range(n)) if n > 1 else ("q_ddot",)
    found = solve_accelerations(mass, force, jacobian, right, labels, tuple(f"z{k}" for k in range(rows)), m.freeze())
    size = 1 + np.abs(found.rates).max() + np.abs(found.multipliers).max(initial=0)
    assert mass @ found.rates - force - jacobian.T @ found.multipliers == pytest.approx(np.zeros(n), abs=1e-8 * size)
    assert jacobian @ found.rates == pytest.approx(right, abs=1e-8 * size)


def test_other_states_and_accelerations_in_forces():
    """A force with an actuator state, and one with an acceleration, which counts as mass."""
    m = dd.Model("m")
    q, s = m.coordinate("q"), m.state("s", start=3.0)
    m.equation(m.der(s), -s)
    m.kinetic_energy(0.5 * m.rate(q) ** 2)
    m.generalised_force(q, s - 2.0 * m["q_ddot"])
    f = m.mechanics()
    assert f.other_labels == ("s",)
    assert f.accelerations()["q_ddot"] == pytest.approx(1.0)
    assert f.accelerations({"s": 6.0})["q_ddot"] == pytest.approx(2.0)
    assert float(f.M(*f.arguments())) == 3.0


def test_a_constraint_with_a_state_needs_its_derivatives():
    m = dd.Model("winch")
    q, rope = m.coordinate("q", 2, start=[1.0, 0.0]), m.state("rope", start=1.0)
    m.equation(m.der(rope), 0.1)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("tie", ca.sumsqr(q) / 2 - rope**2 / 2)
    f = m.mechanics()
    assert set(f.other_labels) == {"rope", "rope_dot", "rope_ddot"}
    found = f.accelerations({"q_dot": [0.1, 0.0], "rope_dot": 0.1, "rope_ddot": 0.5})
    assert found["q_ddot"] == pytest.approx([0.5, 0.0])


def refused(call):
    with pytest.raises(dd.ModelError) as caught:
        call()
    return str(caught.value)


def test_models_without_mechanics():
    m = dd.Model("tank")
    h = m.state("h")
    m.equation(m.der(h), -h)
    assert refused(m.mechanics) == (
        "The model 'tank' has no mechanics.\n"
        "  no coordinate and no body is declared\n"
        "  Because mass matrix and constraint Jacobian belong to what moves.\n"
        "  Try: m.coordinate(...) and m.kinetic_energy(...), or m.body(...)"
    )


def test_forces_that_hide_multipliers():
    m = dd.Model("friction")
    q = m.coordinate("q", 2)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    normal = m.constraint("floor", q[1])
    m.generalised_force(q[0], -0.3 * normal)
    assert refused(m.mechanics) == (
        "The forces in 'friction' are not functions of positions and velocities.\n"
        "  an applied force contains a multiplier, or an acceleration in a nonlinear way\n"
        "  Because M v' + h = τ + Gᵀ λ is linear in accelerations and multipliers.\n"
        "  Try: the equations themselves: m.freeze(), which takes such forces"
    )
    assert m.freeze().sizes["z"] == 1


def test_constraints_with_inputs():
    m = dd.Model("m")
    q, u = m.coordinate("q"), m.input("u")
    m.kinetic_energy(0.5 * m.rate(q) ** 2)
    m.constraint("servo", q - u)
    assert refused(m.mechanics) == (
        "Constraint 'servo' contains u.\n"
        "  it is an input\n"
        "  Because the constraint on accelerations would contain its derivatives, and it has none.\n"
        '  Try: m.state("u", ...) with an equation for its derivative'
    )


def test_unknown_names_of_accelerations():
    found = two_links().mechanics().accelerations()
    assert len(found) == 6
    assert list(found)[-1] == "two"
    with pytest.raises(KeyError, match=r"known: a\.velocity_dot"):
        found["c"]


# -- known motions ---------------------------------------------------------------------------------------------


def heavy_top(lean, spin, turn):
    """A symmetric top on its tip, leaning, with its spin about the axle and a turn W about the vertical."""
    mass, arm, moments = 1.0, 0.2, np.array([0.002, 0.002, 0.003])
    rotation = dd.rot_y(lean)
    rate = np.array([0, 0, spin]) + rotation.T @ [0, 0, turn]
    m = dd.Model("top")
    m.gravity([0, 0, -G])
    top = m.body("top", mass, moments, position=rotation @ [0, 0, arm], rotation=rotation, angular_velocity=rate,
                 velocity=np.cross([0, 0, turn], rotation @ [0, 0, arm]))  # fmt: skip
    m.joint("tip", "spherical", dd.ground, top, at_b=[0, 0, -arm])
    across = moments[0] + mass * arm**2
    return m, mass * G * arm, across, moments[2]


def test_a_heavy_top_precesses_steadily_at_its_rate():
    """(A − C) W² cos θ − C s W + m g l = 0 (Goldstein, Classical Mechanics, §5.7), s the spin in the leaning frame."""
    lean, spin = 0.5, 900.0
    _, load, across, along = heavy_top(lean, spin, 0.0)
    rates = np.roots([(across - along) * np.cos(lean), -along * spin, load])
    for turn in rates:
        m = heavy_top(lean, spin, turn)[0]
        found = m.mechanics().accelerations()
        place = np.array([0.2 * np.sin(lean), 0, 0])
        # The centre goes round a circle, and the angular velocity is constant in the frame of the lean.
        assert found["top.velocity_dot"] == pytest.approx(-(turn**2) * place, abs=1e-9 * turn**2)
        wanted = np.cross([0, 0, turn], dd.rot_y(lean) @ np.array([0, 0, spin]))
        assert dd.rot_y(lean) @ found["top.angular_velocity_dot"] == pytest.approx(wanted, abs=1e-9 * abs(turn * spin))
    m = heavy_top(lean, spin, 1.2 * rates[1])[0]
    assert abs(m.mechanics().accelerations()["top.velocity_dot"][2]) > 1e-3
