"""Poles of an upright pendulum on a cart

One of the four poles is in the right half plane, so the pendulum falls without a controller.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("cart_pendulum")
lin = dd.linearise(k.model, at={"position": 0.0, "angle": 0.0}, inputs={"force": 0.0})
print(lin.poles().round(4))
figure = lin.plot()
