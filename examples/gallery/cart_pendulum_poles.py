"""Poles of an upright pendulum on a cart

One of four poles lies to the right: left alone it falls.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("cart_pendulum")
lin = dd.linearise(k.model, at={"position": 0.0, "angle": 0.0}, inputs={"force": 0.0})
print(lin.poles().round(4))
figure = lin.plot()
