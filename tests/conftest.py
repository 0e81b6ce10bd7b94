"""Settings for all tests: no windows, one cache of compiled code for the whole run."""

import matplotlib as mpl
from hypothesis import settings

mpl.use("Agg")
settings.register_profile("daedalus", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("daedalus")
