"""A chain of rods

Planar bodies hanging from each other. The constraints are kept to rounding.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("rod_chain", rods=8)
tr = dd.simulate(k.model, 3.0)
print(f"joints open by {max(tr.drift().values()):.0e}")
figure = tr.plot("energy")
film = tr.animate()
