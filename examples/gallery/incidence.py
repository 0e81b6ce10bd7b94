"""Which equation contains which unknown

The delta robot's equations in block-triangular order.
"""

import daedalus as dd
from daedalus import catalogue

report = dd.analyse(catalogue.load("delta_robot").model)
print(report)
figure = report.plot()
