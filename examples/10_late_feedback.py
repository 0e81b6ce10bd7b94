"""A shower with a long pipe: what is felt is what was, and an impatient hand swings between hot and cold."""

import daedalus as dd

m = dd.Model("shower")
T, tau, hand = m.state("T", start=20.0, unit="degC"), m.parameter("tau", 0.8, unit="s"), m.parameter("hand", 1.2)
felt = m.delay(T, tau, name="felt")
m.equation(m.der(T), hand * (38.0 - felt))

for gain in (0.4, 1.2, 2.1):
    tr = dd.simulate(m, 30.0, parameters={"hand": gain}, rtol=1e-8)
    swing = abs(tr["T"][tr.time > 20.0] - 38.0).max()
    print(f"hand {gain}: {'calm' if swing < 0.5 else 'swings'}, within {swing:.2g} degrees after 20 s")
