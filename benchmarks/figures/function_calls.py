"""Quadrotor right-hand side and 13×17 Jacobian called from the core, against CasADi's VM in the same loop."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

TARGET = 10.0
PARTS = ("rhs", "rhs and Jacobian")


def evaluate(session: Session) -> Iterator[Row]:
    options = {"problem": "quadrotor", "seconds": session.settings.seconds}
    ours = session.probe("function_calls", options, extra={"DAEDALUS_COMPILER": "llvm"})
    peer = session.probe("function_calls", options, extra={"DAEDALUS_COMPILER": "interpreter"})
    times = [{record["name"]: record["seconds"] for record in outcome.records} for outcome in (ours, peer)]
    tiers = {record["name"]: record["tier"] for record in ours.records}
    for part in PARTS:
        tier = tiers.get(part, "llvm O2")
        note = ours.failure or peer.failure or ("" if tier == "llvm O2" else f"compiled by {tier}")
        yield Row(f"quadrotor {part}", "CasADi VM from C", times[0].get(part), times[1].get(part), TARGET, note=note)


FIGURE = Figure("function_calls", "calls of the model from the core", evaluate)
