"""Write a system as equations, run it, read values by name."""

import numpy as np

import daedalus as dd

m = dd.Model("cart with a spring")
x = m.state("x", start=0.2, unit="m")
v = m.state("v", start=0.0, unit="m/s")
mass = m.parameter("mass", 1.5, unit="kg")
stiffness = m.parameter("stiffness", 40.0, unit="N/m")
force = m.input("force", unit="N")

m.equation(m.der(x), v)
m.equation(mass * m.der(v), force - stiffness * x - 0.8 * v, name="balance of forces")
m.output("energy", 0.5 * mass * v**2 + 0.5 * stiffness * x**2)

tr = dd.simulate(m, 5, inputs={"force": dd.signal([0.0, 2.0, 2.5], [0.0, 10.0, 0.0])})
print(tr)
print("largest displacement after the push:", round(float(np.abs(tr["x"][tr.time > 2]).max()), 4), "m")
print("energy at t = 1:", round(float(tr.at(1.0)["energy"]), 4))

tr.plot().savefig("cart.png")
