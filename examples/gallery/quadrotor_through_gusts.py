"""A quadrotor flies through gusts

Wind pushes with up to a third of the weight. The controller knows a forecast, which contains half of it, in advance.
"""

import casadi as ca
import numpy as np

import daedalus as dd

MASS, ARM, DRAG, INERTIA = 0.468, 0.225, 0.0245, np.array([4.856e-3, 4.856e-3, 8.801e-3])
m = dd.Model("quadrotor in wind")
position, velocity = m.state("position", 3, start=[0.0, 0.0, 1.0]), m.state("velocity", 3, start=0.0)
quaternion, spin = m.state("quaternion", 4, start=[1.0, 0.0, 0.0, 0.0]), m.state("spin", 3, start=0.0)
thrust, wind = m.input("thrust", 4, unit="N"), m.input("wind", 3, unit="N")
up = dd.rotation_from_quaternion(quaternion, normalise=False)[:, 2]
torque = ca.vertcat(
    ARM * (thrust[1] - thrust[3]),
    ARM * (thrust[2] - thrust[0]),
    DRAG * (thrust[0] - thrust[1] + thrust[2] - thrust[3]),
)
m.equation(m.der(position), velocity)
m.equation(m.der(velocity), (up * ca.sum1(thrust) + wind) / MASS - ca.vertcat(0, 0, 9.81))
m.equation(m.der(quaternion), dd.quaternion_rate(quaternion, spin))
m.equation(m.der(spin), (torque - ca.cross(spin, INERTIA * spin)) / INERTIA)

times = np.linspace(0.0, 5.0, 26)
gusts = np.stack([1.5 * np.sin(3 * times) ** 2, np.sin(2 * times), 0.4 * np.cos(5 * times)], axis=1)
ocp = dd.OptimalControl(m, duration=1.0, intervals=20)
ocp.given("wind", dd.signal(times, 0.5 * gusts))
ocp.bound(thrust, 0.0, 2.5)
aim, hover = ca.vertcat(0, 0, 1), MASS * 9.81 / 4
off = 20 * ca.sumsqr(position - aim) + ca.sumsqr(velocity) + ca.sumsqr(quaternion[1:]) + 0.1 * ca.sumsqr(spin)
ocp.minimise(running=off + 0.1 * ca.sumsqr(thrust - hover), final=5 * off)
controller = dd.Controller(ocp, every=0.05)
loop = dd.closed_loop(m, controller, 4.0, inputs={"wind": dd.signal(times, gusts, "linear")})
print(f"at most {np.linalg.norm(loop['position'] - [0, 0, 1], axis=1).max():.2f} m off")
figure = loop.plot(["position", "thrust"]).figure
