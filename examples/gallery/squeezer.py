"""Andrews' squeezing mechanism

Seven bodies, six constraints, thirty milliseconds.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("andrews")
tr = dd.simulate(k.model, k.span, inputs=k.inputs, rtol=1e-8)
print(f"error against the published end: {k.reference.error('angle', tr['angle'][-1]):.0e}")
figure = tr.plot("angle")
