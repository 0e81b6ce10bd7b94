"""Models inside models, and a controller written as an expression."""

import daedalus as dd

tank = dd.Model("tank")
level = tank.state("level", start=0.0, unit="m")
inflow = tank.input("inflow", unit="m^3/s")
tank.equation(tank.der(level), inflow - 0.5 * level)
tank.output("outflow", 0.5 * level)

m = dd.Model("cascade")
pump = m.input("pump", unit="m^3/s")
m.include("upper", tank, inputs={"inflow": pump})
m.include("lower", tank, inputs={"inflow": m["upper.outflow"]})

# A proportional controller on the lower level; the expression takes the place of the input.
tr = dd.simulate(m, 40, inputs={"pump": 2.0 * (1.0 - m["lower.level"])})
print("levels at the end:", tr["upper.level"][-1].round(4), tr["lower.level"][-1].round(4))
print("pump at the end:", tr["pump"][-1].round(4))
