"""The pendulum in Cartesian coordinates, index 3."""

from benchmarks.pendulum import pendulum

PROBLEM = pendulum(3)
