"""The car axis

A stiff problem of index 3 from the test set for initial value problem solvers.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("car_axis")
tr = dd.simulate(k.model, k.span)
print(tr.method, tr.work.steps, "steps")
figure = tr.plot("position")
film = tr.animate(speed=0.5)
