"""A bouncing ball for several restitutions: events, and one compiled model for many values."""

import numpy as np

import daedalus as dd

m = dd.Model("ball")
h = m.state("h", start=1.0, unit="m")
v = m.state("v", start=0.0, unit="m/s")
e = m.parameter("restitution", 0.8)
m.equation(m.der(h), v)
m.equation(m.der(v), -9.81)
m.event("bounce", h, direction=-1, reset={"v": -e * v})

tr = dd.simulate(m, 3)
for event in tr.events[:4]:
    print(f"{event.name} at t = {event.time:.4f}, speed {event.before['v']:.3f} -> {event.after['v']:.3f}")

en = dd.sweep(m, 1.5, over={"restitution": np.linspace(0.6, 0.95, 8)})
print(en)
print(en["h"].isel(time=-1).to_series().round(3).to_string())
