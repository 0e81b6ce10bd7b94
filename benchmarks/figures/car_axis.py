"""The car axis: how many times the tolerance the errors are, direct at index 3 and by reduction.

Judged twice: each component relative to itself, and each group as a vector, its largest error over its largest
component.
"""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

TOLERANCES = (1e-4, 1e-6, 1e-8)
# Errors over rtol: direct at index 3 velocities and multipliers lose orders of the step, positions none.
DIRECT = {"positions": 100.0, "velocities": 1e4, "multipliers": 1e4}
REDUCED = dict.fromkeys(DIRECT, 100.0)
WAYS = (("direct", "radau5", DIRECT), ("direct", "radau9", DIRECT), ("reduced", "auto", REDUCED))


def evaluate(session: Session) -> Iterator[Row]:
    for way, method, bounds in WAYS:
        found = session.probe("car_axis", {"way": way, "method": method, "tolerances": TOLERANCES})
        records = {record["rtol"]: record for record in found.records}
        for rtol in TOLERANCES:
            record = records.get(rtol, {})
            note = record.get("failure") or ("" if record else found.failure or "")
            for part, bound in bounds.items():
                for error in (part, f"{part} as a vector"):
                    title = f"car axis {way} {method}, {error}"
                    yield Row(title, f"rtol {rtol:.0e}", record.get(error), rtol, bound, "at most", note, unit="")


FIGURE = Figure("car_axis", "accuracy on the car axis", evaluate)
