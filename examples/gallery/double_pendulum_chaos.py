"""Two double pendulums a hair apart

The second pendulum starts one millionth of a radian away from the first.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("double_pendulum")
one = dd.simulate(k.model, 15.0, rtol=1e-9, start={"angle": [2.5, 2.0]})
two = dd.simulate(k.model, 15.0, rtol=1e-9, start={"angle": [2.5, 2.000001]})
figure = dd.compare(one, two, names="angle", labels=["2", "2.000001"])
film = one.animate(compare=two, labels=["2", "2.000001"])
