"""Branches with their folds and Hopf points, a limit cycle, boundary values beside SciPy's, and paths of noise."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

# Seconds that each may take, and how many times faster than solve_bvp boundary values are at equal errors.
ALLOWED = {
    "fold": ("Bratu on 100 cells, a point of the branch through its fold", 3e-3),
    "hopf": ("Brusselator of 100 states, a point of the branch through its Hopf points", 3e-3),
    "reactor": ("Tubular reactor of 100 states, 100 points of a branch with folds and Hopf points", 0.3),
    "orbit": ("van der Pol's limit cycle to 1e-10", 20e-3),
    "paths": ("oscillator under noise, a step of a path", 20e-9),
}
BESIDE = {
    "bratu": "Bratu's boundary values",
    "exact bratu": "the same to rounding",
    "eigenvalue": "eigenvalue of a string",
    "exact eigenvalue": "the same to rounding",
}
FASTER = 10.0


def evaluate(session: Session) -> Iterator[Row]:
    for part, (words, allowed) in ALLOWED.items():
        found = session.probe("studies", {"part": part, "seconds": session.settings.seconds})
        for record in found.records or [{}]:
            note = found.failure or "".join(f"{key} {record[key]}" for key in ("at", "error") if key in record)
            yield Row(words, f"{allowed:g} s", record.get("ours"), allowed, 1.0, "at most", note)
    for part, words in BESIDE.items():
        found = session.probe("studies", {"part": part, "seconds": session.settings.seconds})
        for record in found.records or [{}]:
            errors = [f"{record[key]:.1e}" for key in ("error", "scipy_error") if key in record]
            note = found.failure or f"errors {' and '.join(errors)}; ours the first time {record['first']:.2g} s"
            yield Row(words, "solve_bvp", record.get("ours"), record.get("scipy"), FASTER, note=note)


FIGURE = Figure("studies", "branches, orbits, boundary values, noise", evaluate)
