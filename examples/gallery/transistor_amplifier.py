"""The transistor amplifier

An index-1 DAE with a singular, constant mass matrix.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("transistor_amplifier")
print(dd.analyse(k.model).verdict)
tr = dd.simulate(k.model, k.span, inputs=k.inputs)
figure = tr.plot()
