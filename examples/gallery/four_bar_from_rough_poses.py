"""A four-bar put together from rough poses

`dd.guess` marks poses that may change: the joints determine the exact poses.
"""

import daedalus as dd

m = dd.Model("four bar")
m.gravity([0, -9.81])
poses = {"crank": ([0.1, 0.1], 0.8, 0.2), "coupler": ([0.3, 0.4], 0.4, 0.5), "rocker": ([0.4, 0.2], 1.8, 0.4)}
crank, coupler, rocker = (
    m.body(name, 1.0, bar**2 / 12, "planar", position=dd.guess(place), rotation=dd.guess(angle))
    for name, (place, angle, bar) in poses.items()
)
m.joint("a", "revolute", dd.ground, crank, at_b=[-0.1, 0])
m.joint("b", "revolute", crank, coupler, at_a=[0.1, 0], at_b=[-0.25, 0])
m.joint("c", "revolute", coupler, rocker, at_a=[0.25, 0], at_b=[0.2, 0])
m.joint("d", "revolute", dd.ground, rocker, at_a=[0.45, 0], at_b=[-0.2, 0])
crank.apply_torque(1.5)

tr = dd.simulate(m, 2.0)
figure = tr.plot(["crank.angle", "rocker.angle"])
film = tr.animate()
