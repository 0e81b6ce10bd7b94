"""A reactor kept below its limit

The coolant brings an exothermic stirred tank (Henson and Seborg) to half conversion. Above 355 K it would run away, and
the feed is warmer than the controller assumes.
"""

import casadi as ca
import numpy as np

import daedalus as dd

m = dd.Model("reactor")
c, T = m.state("c", start=0.87, unit="mol/l"), m.state("T", start=325.0, unit="K", nominal=100.0)
coolant = m.input("coolant", unit="K")
feed = m.parameter("feed", 350.0, unit="K")
rate = 7.2e10 * ca.exp(-8750.0 / T) * c
m.equation(m.der(c), 1.0 - c - rate)
m.equation(m.der(T), feed - T + 209.2 * rate + 2.092 * (coolant - T))

ocp = dd.OptimalControl(m, duration=1.0, intervals=20)
ocp.bound(coolant, 270.0, 320.0)
ocp.subject_to(T <= 355.0, name="limit", soft=1e3)
ocp.minimise(running=100 * (c - 0.5) ** 2 + 1e-3 * (T - 350.0) ** 2 + 1e-4 * (coolant - 300.0) ** 2)
ocp.terminal("lqr", at={"c": 0.5})
controller = dd.Controller(ocp, every=0.05)
loop = dd.closed_loop(m, controller, 5.0, parameters={"feed": 351.0}, noise={"T": 0.1})
print(f"at most {loop['T'].max():.1f} K; at the end {loop['c'][-1]:.3f} mol/l")
figure = loop.plot(["c", "T", "coolant"]).figure
assert np.isfinite(loop["T"]).all()
