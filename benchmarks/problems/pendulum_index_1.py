"""The pendulum in Cartesian coordinates, index 1."""

from benchmarks.pendulum import pendulum

PROBLEM = pendulum(1)
