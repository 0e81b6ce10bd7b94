"""The car axis, index 1."""

from benchmarks.axle import axle

PROBLEM = axle(1)
