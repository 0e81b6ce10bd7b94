"""A quadrotor's flight

Thirteen states, a unit quaternion whose norm is kept, and thrusts as arrows.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("quadrotor")
tr = dd.simulate(k.model, 4.0, inputs=k.inputs)
print(f"|q| - 1 = {abs(tr['quaternion_norm'] - 1).max():.1e}")
figure = tr.plot_path("position")
film = tr.animate()
