"""A pendulum from its energies

Lagrange's equations follow from kinetic and potential energy; `m.draw` defines what it looks like.
"""

import casadi as ca

import daedalus as dd

m = dd.Model("pendulum")
angle = m.coordinate("angle", start=2.0, rate=0.0, unit="rad")
length, mass = m.parameter("length", 1.0, unit="m"), m.parameter("mass", 1.0, unit="kg")
bob = ca.vertcat(length * ca.sin(angle), -length * ca.cos(angle))
m.kinetic_energy(0.5 * mass * (length * m.rate(angle)) ** 2)
m.potential_energy(mass * 9.81 * bob[1])
m.draw("rod", [0, 0], to=bob)
m.draw("sphere", bob, radius=0.08, name="bob")
m.draw("trace", bob, name="path")

print(m)
tr = dd.simulate(m, 6.0)
figure = tr.plot_phase("angle", "angle_dot")
film = tr.animate()
