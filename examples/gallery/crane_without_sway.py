"""A crane carries its load without sway

A cable connects trolley and load: a constraint of index 3. The controller plans with the equations as written, and the
cable keeps its length.
"""

import casadi as ca

import daedalus as dd

m = dd.Model("crane")
trolley = m.coordinate("trolley", start=0.0, rate=0.0, unit="m")
load = m.coordinate("load", 2, start=[0.0, -2.0], rate=[0.0, 0.0], unit="m")
force = m.input("force", unit="N")
m.kinetic_energy(0.5 * 4.0 * m.rate(trolley) ** 2 + 0.5 * ca.sumsqr(m.rate(load)))
m.potential_energy(9.81 * load[1])
m.constraint("cable", ((load[0] - trolley) ** 2 + load[1] ** 2 - 4.0) / 4.0)
m.generalised_force(trolley, force)
m.output("sway", load[0] - trolley)
m.draw("box", [trolley, 0], size=[0.4, 0.2, 0.2], name="trolley")
m.draw("rod", [trolley, 0], to=load, radius=0.01, name="cable")
m.draw("sphere", load, radius=0.12, name="load")

ocp = dd.OptimalControl(m, duration=2.0, intervals=20)
ocp.bound(force, -15.0, 15.0)
ocp.subject_to(ca.fabs(load[0] - trolley) <= 0.25, name="sway", soft=100.0)
ocp.minimise(running=(trolley - 3) ** 2 + (load[0] - 3) ** 2 + 0.5 * ca.sumsqr(m.rate(load)) + 0.002 * force**2)
ocp.terminal("lqr", at={"trolley": 3.0})
controller = dd.Controller(ocp, every=0.1)
loop = dd.closed_loop(m, controller, 6.0)
print(
    f"the load stops {abs(loop['load'][-1][0] - 3):.4f} m from its place; largest sway {abs(loop['sway']).max():.3f} m"
)
print(f"the cable is off by {max(loop.violations().values()):.0e}")
figure = loop.plot(["trolley", "sway", "force"]).figure
film = loop.animate()
