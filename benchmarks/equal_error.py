"""The tolerance at which a method comes to a given error, read off runs at many tolerances.

Errors over tolerances scatter by a factor of ten and more: at some a method happens to end close to the reference. One
such run says nothing of the method, and the best of several methods would be the luckiest. A line through all runs
near the error, log rtol over log error, has no luck; the method is then timed at the tolerance that the line gives.
"""

from collections.abc import Sequence
from math import exp, log

# Runs with errors within this factor of the one looked for are fitted: three or four decades, over which the order of a
# method shows and in which neither the loosest runs nor rounding count.
NEAR = 30.0
# Fewer runs than this are joined by those next to them.
FEWEST = 4

Run = tuple[float, float]  # rtol and the error that it led to


def tolerance_for(runs: Sequence[Run], error: float) -> float | None:
    """rtol for a largest error; the loosest where that is fine enough, None where no run comes to it."""
    runs = sorted(runs, reverse=True)
    if not runs or min(found for _, found in runs) > error:
        return None
    if all(found <= error for _, found in runs):
        return runs[0][0]
    points = sorted(runs, key=lambda run: abs(log(max(run[1], 1e-300) / error)))
    near = [run for run in points if error / NEAR <= run[1] <= error * NEAR]
    fitted = _on_line(near if len(near) >= FEWEST else points[:FEWEST], error)
    return min(max(fitted, runs[-1][0]), runs[0][0])


def _on_line(runs: Sequence[Run], error: float) -> float:
    """log rtol at log error = log(error) on the line of least squares through runs."""
    xs, ys = [log(max(found, 1e-300) / error) for _, found in runs], [log(rtol) for rtol, _ in runs]
    middle, height = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - middle) ** 2 for x in xs)
    slope = sum((x - middle) * (y - height) for x, y in zip(xs, ys)) / spread if spread > 0 else 0.0
    return exp(height - slope * middle)
