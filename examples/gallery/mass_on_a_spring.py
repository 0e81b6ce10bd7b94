"""A mass on a spring

Springs, boxes and arrows with `m.draw`.
"""

import daedalus as dd

m = dd.Model("mass on a spring")
x = m.coordinate("x", start=0.3, rate=0.0, unit="m")
stiffness = m.parameter("stiffness", 20.0, unit="N/m")
m.kinetic_energy(0.5 * m.rate(x) ** 2)
m.potential_energy(0.5 * stiffness * x**2)
m.dissipation(0.5 * 0.3 * m.rate(x) ** 2)
m.draw("spring", [-1, 0], to=[x, 0], radius=0.08)
m.draw("box", [x + 0.15, 0], size=[0.3, 0.3, 0.3], colour="#0072b2")
m.draw("arrow", [x + 0.15, 0], vector=[-stiffness * x, 0], name="force")
tr = dd.simulate(m, 8.0)
figure = tr.plot()
film = tr.animate()
