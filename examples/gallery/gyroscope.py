"""A heavy top

The top spins fast and nods while it precesses. Energy and two momenta are conserved.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("gyroscope")
tr = dd.simulate(k.model, 2.0, rtol=1e-8)
for name in k.conserved:
    print(f"{name} kept to {abs(tr[name] / tr[name][0] - 1).max():.1e}")
figure = tr.plot_path("axle")
film = tr.animate(speed=0.25)
