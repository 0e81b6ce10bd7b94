"""The car axis, index 3."""

from benchmarks.axle import axle

PROBLEM = axle(3)
