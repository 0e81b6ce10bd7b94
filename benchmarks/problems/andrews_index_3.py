"""Andrews' squeezing mechanism, index 3."""

from benchmarks.squeezer import squeezer

PROBLEM = squeezer(3)
