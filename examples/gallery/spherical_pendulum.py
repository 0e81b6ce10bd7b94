"""A mass on a cable in space

Cartesian coordinates and one constraint: an index-3 DAE as written. The orange arrow is the pull of the cable.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("pendulum_3d")
print(dd.analyse(k.model).verdict)
tr = dd.simulate(k.model, 10.0, inputs=k.inputs)
print(f"the cable keeps its length within {max(tr.drift().values()):.0e}")
figure = tr.plot_path("position")
film = tr.animate()
