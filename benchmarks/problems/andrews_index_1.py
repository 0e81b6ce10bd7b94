"""Andrews' squeezing mechanism, index 1."""

from benchmarks.squeezer import squeezer

PROBLEM = squeezer(1)
