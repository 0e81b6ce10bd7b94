"""Settings for all tests: no windows, Control-C that counts, a cache of compiled code beside the user's own."""

import os
import signal
import tempfile
from pathlib import Path

import matplotlib as mpl
from hypothesis import settings

mpl.use("Agg")
# Shells start what runs in the background with Control-C ignored, and every process that it starts inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["DAEDALUS_CACHE"] = str(Path(tempfile.gettempdir(), f"daedalus-tests-{os.getuid()}"))
settings.register_profile("daedalus", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("daedalus")
