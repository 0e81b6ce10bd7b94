"""The pendulum in Cartesian coordinates, index 2."""

from benchmarks.pendulum import pendulum

PROBLEM = pendulum(2)
