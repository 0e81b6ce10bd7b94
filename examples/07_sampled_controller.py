"""A sampled PID controller with anti-windup on a second-order plant, and a supervisor that switches it off."""

import casadi as ca

import daedalus as dd

m = dd.Model("sampled loop")
x, v = m.state("x", start=0.0, unit="m"), m.state("v", start=0.0, unit="m/s")
force, integral, on = m.discrete("force", unit="N"), m.discrete("integral"), m.discrete("on", start=1)
m.equation(m.der(x), v)
m.equation(m.der(v), force - 0.5 * v - x)

error = 1.0 - x
wanted = on * (20 * error + 10 * integral - 4 * v)
limited = ca.fmin(ca.fmax(wanted, -3.0), 3.0)
m.every(
    0.01,
    {"force": limited, "integral": integral + 0.01 * ca.if_else(wanted == limited, error, 0.0)},
    name="controller",
)
m.schedule([8.0], {"on": 0}, name="switch_off")
m.when(dd.all_of(on == 0, x < 0.5), {"on": 1, "integral": 0.0}, name="fell_too_far")

tr = dd.simulate(m, 12.0)
print(tr.stop_reason)
print("at t = 8:", round(float(tr.at(8.0)["x"]), 4), "m; largest force", float(abs(tr["force"]).max()), "N")
print([(event.name, round(event.time, 3)) for event in tr.events])
