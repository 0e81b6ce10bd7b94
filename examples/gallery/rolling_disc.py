"""A rolling disc

A velocity constraint: the contact point does not slide.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("rolling_disc")
tr = dd.simulate(k.model, 4.0)
figure = tr.plot_path("disc.position")
film = tr.animate()
