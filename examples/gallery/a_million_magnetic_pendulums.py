"""A million magnetic pendulums

A pendulum over three magnets comes to rest above one of them. Which one? The picture shows a million starts, with one
colour per magnet. The boundaries are fractal: near each boundary there are starts that end above the third magnet.
"""

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np

import daedalus as dd

SIDE = 1000
angles = np.radians([90.0, 210.0, 330.0])
magnets = np.stack([np.cos(angles), np.sin(angles)])

m = dd.Model("magnetic pendulum")
x, y = m.state("x", start=1.0), m.state("y", start=0.0)
place = ca.vertcat(x, y)
v = m.state("v", 2, start=[0.0, 0.0])
pull = -0.5 * place - 0.2 * v
for k in range(3):
    way = ca.DM(magnets[:, k]) - place
    pull += way / (ca.sumsqr(way) + 0.2**2) ** 1.5
m.equation(ca.vertcat(m.der(x), m.der(y)), v)
m.equation(m.der(v), pull)

starts = np.linspace(-2.0, 2.0, SIDE)
en = dd.sweep(m, 20.0, over={"y": starts, "x": starts}, outputs=["x", "y"], save_at="end", method="rk4", step=0.05)

ends = np.stack([en["x"].values[..., 0], en["y"].values[..., 0]])
nearest = ((ends[:, None] - magnets[:, :, None, None]) ** 2).sum(axis=0).argmin(axis=0)
figure, ax = plt.subplots(figsize=(5.0, 5.0), layout="constrained")
ax.imshow(nearest, origin="lower", extent=(-2, 2, -2, 2), cmap="viridis", interpolation="nearest")
ax.plot(*magnets, "wo", markeredgecolor="k")
ax.set(xlabel="x in m", ylabel="y in m", title=f"{en.success.size} cases, coloured by where they end")
