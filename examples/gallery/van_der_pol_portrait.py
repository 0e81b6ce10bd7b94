"""The phase portrait of van der Pol's oscillator

Directions, nullclines, the equilibrium with its kind, and trajectories that approach the limit cycle.
"""

import daedalus as dd

m = dd.Model("van der Pol")
x, v = m.state("x", start=0.1), m.state("v", start=0.0)
m.equation(m.der(x), v)
m.equation(m.der(v), (1 - x**2) * v - x)
tr = dd.simulate(m, 25.0)
portrait = dd.phase_portrait(m, "x", "v", {"x": (-3, 3), "v": (-3, 3)}, nullclines=True)
figure = getattr(portrait, "figure", portrait)
tr.plot_phase("x", "v", ax=figure.axes[0])
