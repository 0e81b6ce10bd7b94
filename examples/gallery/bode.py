"""A Bode plot

The frequency response of a mass between two springs, from force to position.
"""

import daedalus as dd

m = dd.Model("two masses")
x = m.state("x", 2, start=0.0, rate=0.0, unit="m")
force = m.input("force", unit="N")
v = m.der(x)
spring, damper = 40.0 * (x[1] - x[0]), 0.1 * (v[1] - v[0])
m.equation(m.der(v), [spring + damper + force - 10.0 * x[0], -spring - damper])
lin = dd.linearise(m, inputs={"force": 0.0})
figure = lin.frequency_response().plot()
