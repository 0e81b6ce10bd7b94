"""A sampled PID controller on a second-order plant, 10 s at 1 kHz: a clock against loops over samples."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

# Ours by a clock of formulas, against each of these.
PEERS = {"scipy": ("solve_ivp, sample by sample", 20.0), "loop": ("dd.simulate, sample by sample", 5.0)}
# Seconds that one sample may cost.
ALLOWED = {"sample by formula": 2e-6, "sample by code": 5e-6}
# Answers that differ by more are no comparison.
SAME = 1e-4


def evaluate(session: Session) -> Iterator[Row]:
    found = {}
    for way in ("formula", "code", *PEERS, *ALLOWED):
        found[way] = session.probe("sampled_control", {"way": way, "seconds": session.settings.seconds})
    numbers = {way: outcome.records[0] if outcome.records else {} for way, outcome in found.items()}
    ours = numbers["formula"]
    for way, (name, target) in PEERS.items():
        note = found["formula"].failure or found[way].failure or ""
        if not note and abs(ours["value"] - numbers[way]["value"]) > SAME:
            note = f"ends at {numbers[way]['value']:.6g}, ours at {ours['value']:.6g}"
        yield Row(
            "sampled PID, 10 s at 1 kHz", name, ours.get("seconds"), numbers[way].get("seconds"), target, note=note
        )
    code = numbers["code"].get("seconds")
    yield Row("sampled PID in Python code", PEERS["scipy"][0], code, numbers["scipy"].get("seconds"), None)
    for way, allowed in ALLOWED.items():
        note = found[way].failure or ""
        yield Row(f"a {way}", f"{allowed:g} s", numbers[way].get("seconds"), allowed, 1.0, "at most", note)


FIGURE = Figure("sampled_control", "sampled controllers", evaluate)
