"""The order of a method, measured

Errors over step sizes: the slope is the order.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("mass_spring")
measured = dd.convergence(k.model, "rk4", [0.4, 0.2, 0.1, 0.05], span=2.0)
print(f"order {measured.order:.2f}")
figure = measured.plot()
