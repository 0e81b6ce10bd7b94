"""A bouncing ball

Events with resets: at the floor the velocity reverses and loses a fifth.
"""

import daedalus as dd

m = dd.Model("ball")
h, v = m.state("h", start=1.0, unit="m"), m.state("v", start=0.0, unit="m/s")
m.equation(m.der(h), v)
m.equation(m.der(v), -9.81)
m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
m.draw("sphere", [0, h + 0.1], radius=0.1, colour="#d55e00")

tr = dd.simulate(m, 3.0)
print(f"{len(tr.events)} bounces, the first at t = {tr.events[0].time:.4f}")
figure = tr.plot()
film = tr.animate()
