"""How a swing changes with its parameters

First derivatives along the run, and bands for small changes of the parameters.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("pendulum_3d")
sens = dd.sensitivities(k.model, 3.0, inputs=k.inputs, wrt=("parameters",))
figure = sens.plot("position")
