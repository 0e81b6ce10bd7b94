"""Stability regions

The stability regions |R(z)| <= 1 of four methods.
"""

import matplotlib.pyplot as plt

import daedalus as dd

figure, axes = plt.subplots(2, 2, figsize=(9, 9), layout="constrained")
for name, panel in zip(("rk4", "dopri5", "gauss2", "radau5"), axes.flat):
    tableau = dd.radau_iia(3) if name == "radau5" else dd.gauss_legendre(2) if name == "gauss2" else dd.tableau(name)
    tableau.plot_stability(ax=panel)
