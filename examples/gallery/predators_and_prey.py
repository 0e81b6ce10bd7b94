"""Predators and prey

How the solution changes with every parameter.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("lotka_volterra")
sens = dd.sensitivities(k.model, k.span, wrt=("parameters",))
figure = sens.plot()
