"""What remains when a parameter vanishes

A motor whose inductance goes to zero: the limit is a DAE, and the solutions converge to its solution.
"""

import daedalus as dd

m = dd.Model("motor")
epsilon, u = m.parameter("epsilon", 0.05), m.input("u")
speed, current = m.state("speed", start=0.0), m.state("current", start=0.0)
m.equation(m.der(speed), current - 0.2 * speed)
m.equation(epsilon * m.der(current), u - current - speed)
found = dd.singular_limit(m, "epsilon", 4.0, inputs={"u": 1.0})
print(found)
figure = dd.compare(
    dd.simulate(m, 4.0, inputs={"u": 1.0}),
    dd.simulate(found.limit, 4.0),
    names=["speed", "current"],
    labels=["epsilon = 0.05", "limit"],
)
