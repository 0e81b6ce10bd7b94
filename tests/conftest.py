"""Settings for all tests: no windows, and a cache of compiled code that the user's own does not see."""

import os
import tempfile
from pathlib import Path

import matplotlib as mpl
from hypothesis import settings

mpl.use("Agg")
os.environ["DAEDALUS_CACHE"] = str(Path(tempfile.gettempdir(), f"daedalus-tests-{os.getuid()}"))
settings.register_profile("daedalus", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("daedalus")
