"""Seven stars

The Pleiades problem: close encounters, solved by an explicit method of order eight.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("pleiades")
tr = dd.simulate(k.model, k.span, rtol=1e-9)
print(f"largest error against the published end: {max(k.reference.error(n, tr[n][-1]) for n in ('x', 'y')):.0e}")
figure = tr.plot(["x", "y"])
film = tr.animate(speed=0.5)
