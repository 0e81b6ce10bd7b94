"""A pendulum swings up and balances

The controller plans one second ahead, twenty times per second. Its model of the cart is ten per cent too light.
"""

import numpy as np

import daedalus as dd
from daedalus import catalogue

m = catalogue.load("cart_pendulum").model
position, angle = m["position"], m["angle"]
ocp = dd.OptimalControl(m, duration=1.0, intervals=20)
ocp.bound("force", -20.0, 20.0)
ocp.minimise(running=10 * position**2 + 20 * angle**2 + 0.1 * m["position_dot"] ** 2 + 0.1 * m["angle_dot"] ** 2)
ocp.minimise(running=0.01 * m["force"] ** 2)
ocp.terminal("lqr", soft=10.0)
controller = dd.Controller(ocp, every=0.05)
hanging = {"position": 0.0, "angle": np.pi, "position_dot": 0.0, "angle_dot": 0.0}
loop = dd.closed_loop(m, controller, 4.0, start=hanging, parameters={"cart_mass": 1.1}, noise=0.002)
print(f"after 4 s {loop['angle'][-1]:.3f} rad and {loop['position'][-1]:.3f} m from the target")
print(controller.work.solved, "of", controller.work.calls, "plans solved")
figure = loop.plot(["angle", "position", "force"]).figure
film = loop.animate()
