"""A slider-crank mechanism

Planar bodies with revolute and prismatic joints, drawn automatically.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("slider_crank")
tr = dd.simulate(k.model, k.span)
figure = tr.plot(["slider.position", "crank.angular_velocity"])
film = tr.animate(speed=0.3)
