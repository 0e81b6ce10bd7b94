"""Find a steady state, linearise there, and compare with a run of the whole model."""

import numpy as np

import daedalus as dd

m = dd.Model("tank with a heater")
level = m.state("level", start=1.0, unit="m")
heat = m.state("temperature", start=20.0, unit="degC")
inflow, power = m.input("inflow"), m.input("power")
m.equation(2.0 * m.der(level), inflow - 0.4 * np.sqrt(level), name="volume")
m.equation(2.0 * level * m.der(heat), inflow * (15.0 - heat) + power, name="energy")

steady = dd.equilibrium(m, inputs={"inflow": 0.5, "power": 10.0}, guess={"level": 1.0, "temperature": 30.0})
print("steady state:", {name: round(float(steady[name]), 4) for name in ("level", "temperature")})

lin = dd.linearise(m, at=steady)
print("poles:", np.round(lin.poles(), 4))

# A small step of the power, once by the linear system and once by the model.
times = np.linspace(0, 20, 5)
linear = lin.to_state_space().respond(times, {"power": 0.5})
whole = dd.simulate(m, 20, start=steady, inputs={"inflow": 0.5, "power": 10.5}, save_at=times)
print("linear:", np.round(linear["temperature"] + steady["temperature"], 3))
print("whole: ", np.round(whole["temperature"], 3))
