"""Many runs at once

Five hundred springs with different stiffness, drawn as percentile bands.
"""

import numpy as np

import daedalus as dd
from daedalus import catalogue

k = catalogue.load("mass_spring")
stiffness = np.random.default_rng(1).normal(8.0, 0.8, 500)
en = dd.sweep(k.model, 6.0, over={"stiffness": stiffness}, save_at=np.linspace(0, 6, 301))
figure = en.plot("position")
