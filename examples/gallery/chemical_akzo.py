"""The chemical Akzo Nobel problem

Six species, one of them determined by an algebraic equation.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("chemical_akzo")
tr = dd.simulate(k.model, k.span, inputs=k.inputs)
figure = tr.plot()
