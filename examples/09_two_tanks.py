"""Two tanks and an on–off pump: a state machine of conditions, and how the period changes with the pump."""

import casadi as ca

import daedalus as dd

m = dd.Model("two tanks")
upper, lower = m.state("upper", start=0.5, unit="m"), m.state("lower", start=1.0, unit="m")
flow = m.parameter("flow", 0.3, unit="m/s")
pump, starts = m.discrete("pump", start=0), m.discrete("starts")
down = 0.2 * ca.sqrt(upper)
m.equation(m.der(upper), flow * pump - down)
m.equation(m.der(lower), down - flow * pump)
m.when(upper < 0.3, {"pump": 1, "starts": starts + 1}, name="on")
m.when(upper > 0.8, {"pump": 0}, name="off")

tr = dd.simulate(m, 40.0, rtol=1e-8)
times = [event.time for event in tr.events if event.name == "on"]
kept = abs(tr["upper"] + tr["lower"] - 1.5).max()
print("the pump starts every", round(times[2] - times[1], 4), "s; water is kept to", f"{kept:.0e} m")

sens = dd.sensitivities(m, 40.0, wrt="flow", rtol=1e-8)
moves = [event.time_derivative["flow"] for event in sens.events if event.name == "on"]
print("a stronger pump by 0.01 m/s moves the third start by", round(0.01 * moves[2], 4), "s")
