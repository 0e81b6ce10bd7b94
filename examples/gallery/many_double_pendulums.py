"""Thousands of double pendulums

All start within one millionth of each other. For some seconds they move as one. Then they spread, and only
probabilities of their positions remain. For a million, set `COUNT = 1_000_000`.
"""

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np

import daedalus as dd

COUNT = 4000
m = dd.Model("double pendulum")
q = m.coordinate("q", 2, start=[2.0, 2.5], rate=[0.0, 0.0])
w = m.rate(q)
m.kinetic_energy(w[0] ** 2 + 0.5 * w[1] ** 2 + w[0] * w[1] * ca.cos(q[0] - q[1]))
m.potential_energy(-9.81 * (2 * ca.cos(q[0]) + ca.cos(q[1])))
m.output("tip", ca.sin(q[0]) + ca.sin(q[1]))

drawn = dd.sample({"q[0]": dd.normal(2.0, 1e-6)}, COUNT, seed=1)
times = np.linspace(0.0, 12.0, 121)
en = dd.sweep(m, 12.0, over=drawn, outputs=["tip"], save_at=times, method="tsit5")

figure, ax = plt.subplots(figsize=(7.0, 3.5), layout="constrained")
edges = np.linspace(-2.0, 2.0, 161)
counts = np.stack([np.histogram(column, edges)[0] for column in en["tip"].values.T], axis=1)
ax.pcolormesh(times, 0.5 * (edges[1:] + edges[:-1]), np.log1p(counts), cmap="magma")
ax.set(xlabel="time in s", ylabel="tip in m", title=en.notes[0])
