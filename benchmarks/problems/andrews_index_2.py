"""Andrews' squeezing mechanism, index 2."""

from benchmarks.squeezer import squeezer

PROBLEM = squeezer(2)
