"""Plans with all end states fixed: first use and repeated search beside hand-written CasADi, 60 intervals each."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

# Seconds that a plan may take from its description on, and a repeated search.
ALLOWED = {
    "cart_pendulum": (0.15, 0.005),
    "pendulum_3d": (0.3, 0.02),
    "delta_robot": (0.8, 0.05),
    "quadrotor": (0.3, 0.02),
}


def evaluate(session: Session) -> Iterator[Row]:
    for problem, (first, again) in ALLOWED.items():
        found = session.probe("optimal_control", {"problem": problem})
        for record in found.records or [{}]:
            note = found.failure or (
                f"{record['iterations']} iterations, cost {record['objective']:.6g}; by hand "
                f"{record['casadi iterations']}, {record['casadi objective']:.6g}"
            )
            by_hand = record.get("casadi")
            yield Row(f"{problem}, first plan", "CasADi by hand", record.get("first"), by_hand, 1.0, "at least", note)
            yield Row(f"{problem}, first plan", f"{first} s", record.get("first"), first, 1.0, "at most", note)
            yield Row(f"{problem}, repeated search", f"{again} s", record.get("again"), again, 1.0, "at most", note)
            yield Row(
                f"{problem}, from another start", f"{again} s", record.get("elsewhere"), again, 1.0, "at most", note
            )


FIGURE = Figure("optimal_control", "plans with all end states fixed", evaluate)
