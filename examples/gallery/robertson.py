"""Robertson's reactions

Rates that differ by nine orders of magnitude. A stiff method takes a few hundred steps to t = 1e11.
"""

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("robertson")
tr = dd.simulate(k.model, 1e5)
print(tr.method, tr.work.steps, "steps")
figure = tr.plot()
for panel in figure.axes:
    panel.set_xscale("symlog", linthresh=1e-5)
