"""A delta robot

Three motors, three closed loops, index 3. The arrows are the forces of the long arms on the platform.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("delta_robot")
rate = k.model["angle_dot"]
tr = dd.simulate(k.model, 0.8, inputs={"torque": k.inputs["torque"] - 0.05 * rate})
figure = tr.plot(["position", "angle", "arm"])
film = tr.animate(speed=0.25)
