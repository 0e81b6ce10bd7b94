"""Things that stick, slide and hit each other: a block on a belt, Newton's cradle, a relay."""

import casadi as ca
import numpy as np

import daedalus as dd

# A block on a belt, held by a spring: it sticks until the spring pulls with the static level, then slips back.
block = dd.Model("block on a belt")
x, v = block.state("x", start=0.0), block.state("v", start=0.5)
f = block.friction("belt", v - 0.5, kinetic=1.0, static=2.0)
block.equation(block.der(x), v)
block.equation(block.der(v), -x + f)
tr = dd.simulate(block, 20.0)
print("slips and sticks at", [round(float(event.time), 3) for event in tr.events])

# How the time of a slip shows in what follows: derivatives go through sticking and sliding.
print("dx/dx0 after two slips:", round(float(dd.sensitivities(block, 13.0).d("x", "x")), 6))

# Newton's cradle: one ball comes, one ball goes.
cradle = dd.Model("cradle")
a = cradle.coordinate("a", 5, start=[-0.3, 0, 0, 0, 0], rate=0.0)
cradle.kinetic_energy(0.5 * ca.sumsqr(cradle.rate(a)))
cradle.potential_energy(-9.81 * ca.sum1(ca.cos(a)))
for k in range(4):
    cradle.unilateral(f"contact{k}", a[k + 1] - a[k], restitution=1.0)
tr = dd.simulate(cradle, 1.0)
print("the last ball swings to", np.round(tr["a"][:, 4].max(), 4))

# A relay that holds a level slides along its condition.
relay = dd.Model("relay")
level = relay.state("level", start=0.2)
relay.equation(relay.der(level), ca.if_else(level < 0.5, 0.6, 0.0) - 0.5 * level)
tr = dd.simulate(relay, 10.0)
print(tr.notes[-1])
