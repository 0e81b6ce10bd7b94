"""The energy changes by the work of the inputs less what is dissipated, along the whole run.

The work is one more state of the same model, with the power as its rate, so that both are integrated together.
"""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

G = 9.81


def cart_pendulum():
    """By energies, with friction on the rail and in the hinge."""
    m = dd.Model("cart")
    x, a = m.coordinate("x", start=0.0, rate=0.3), m.coordinate("a", start=0.5, rate=0.0)
    force = m.input("force")
    bob = ca.vertcat(x + 0.5 * ca.sin(a), 0.5 * ca.cos(a))
    kinetic = 0.5 * m.rate(x) ** 2 + 0.5 * 0.2 * ca.sumsqr(m.der(bob))
    potential = 0.2 * G * bob[1]
    m.kinetic_energy(kinetic)
    m.potential_energy(potential)
    m.dissipation(0.5 * 0.8 * m.rate(x) ** 2 + 0.5 * 0.02 * m.rate(a) ** 2)
    m.force([force, 0.0], at=[x, 0.0])
    power = force * m.rate(x) - 0.8 * m.rate(x) ** 2 - 0.02 * m.rate(a) ** 2
    return m, kinetic + potential, power, {"force": lambda t: 2.0 * np.sin(3.0 * t)}


def tumbling_box():
    """A body in space with a damping torque, a torque of a motor in its frame and a push at a corner."""
    m = dd.Model("box")
    m.gravity([0.0, 0.0, -G])
    box = m.body(
        "box", 2.0, dd.inertia.box(2.0, 0.3, 0.5, 0.8), position=[0, 0, 1], velocity=[0.5, 0, 0],
        rotation=[1, 0, 0, 0], angular_velocity=[0.2, 3.0, -0.5],
    )  # fmt: skip
    push, motor, corner = m.input("push", 3), m.input("motor", 3), [0.15, 0.25, -0.4]
    spin = box.angular_velocity
    box.apply_torque(motor - 0.05 * spin)
    box.apply_force(push, at=corner)
    power = push.T @ box.point_velocity(corner) + motor.T @ spin - 0.05 * ca.sumsqr(spin)
    energy = box.kinetic_energy + 2.0 * G * box.position[2]
    return m, energy, power, {"push": [0.3, -0.2, 0.5], "motor": lambda t: [0.1 * np.cos(t), 0.2, -0.1 * t]}


def tied_mass():
    """A mass on a cable, of index 3: the constraint does no work, the drag of the air and the wind do."""
    m = dd.Model("tied mass")
    p = m.coordinate("p", 3, start=[0.6, 0.0, -0.8], rate=[0.0, 1.0, 0.0])
    wind, speed = m.input("wind", 3), m.rate(p)
    kinetic, potential = 0.5 * ca.sumsqr(speed), G * p[2]
    m.kinetic_energy(kinetic)
    m.potential_energy(potential)
    m.dissipation(0.5 * 0.3 * ca.sumsqr(speed))
    m.generalised_force(p, wind)
    m.constraint("cable", 0.5 * (ca.sumsqr(p) - 1.0))
    return m, kinetic + potential, wind.T @ speed - 0.3 * ca.sumsqr(speed), {"wind": [1.0, 0.5, 0.0]}


@pytest.mark.parametrize("write", [cart_pendulum, tumbling_box, tied_mass])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_energy_changes_by_the_work(write, rtol):
    m, energy, power, inputs = write()
    work = m.state("work", start=0.0)
    m.equation(m.der(work), power)
    m.output("energy", energy)
    tr = dd.simulate(m, 2.0, inputs=inputs, rtol=rtol, atol=1e-3 * rtol)
    assert tr.success, tr.stop_reason
    change = tr["energy"] - tr["energy"][0]
    size = np.max(np.abs(tr["energy"]))
    # The work matters: without it the balance would be off by far more than the tolerance.
    assert np.max(np.abs(tr["work"])) > 0.05 * size
    # Measured: up to 0.3 times rtol.
    assert np.max(np.abs(change - tr["work"])) <= 3 * rtol * size


@pytest.mark.parametrize("write", [cart_pendulum, tumbling_box, tied_mass])
def test_dissipation_alone_takes_energy_all_the_time(write):
    m, energy, _, inputs = write()
    m.output("energy", energy)
    still = {name: np.zeros(v.shape) for name, v in m.inputs.items()}
    assert set(still) == set(inputs)
    tr = dd.simulate(m, 2.0, inputs=still, rtol=1e-9, atol=1e-12)
    assert np.max(np.diff(tr["energy"])) <= 1e-8
    assert tr["energy"][-1] < tr["energy"][0] - 0.05
