"""Stiff DAEs of index 1 at equal achieved error: the fastest of our methods beside the fastest peer.

Peers build their solvers before the clock starts, as `dd.prepare` does; `dd.simulate` reads its arguments by name in
the time that is measured.
"""

from collections.abc import Iterator

from benchmarks.cases import Case, all_cases
from benchmarks.figure import Figure, Row
from benchmarks.session import Session

PROBLEMS = ("robertson", "chemical_akzo", "transistor_amplifier")
ERRORS = (1e-4, 1e-6, 1e-8)
FASTER = 3.0


def of(problem: str, *, ours: bool) -> list[str]:
    """The names of our cases of a problem, or of the peers'."""
    return [case.name for case in cases(problem) if (case.tool == "daedalus") is ours]


def cases(problem: str) -> list[Case]:
    return [case for case in all_cases() if case.problem == problem]


def evaluate(session: Session) -> Iterator[Row]:
    for problem in PROBLEMS:
        plain = [name for name in of(problem, ours=True) if ":prepared-" not in name]
        prepared = [name for name in of(problem, ours=True) if ":prepared-" in name]
        for error in ERRORS:
            title = f"{problem}, error {error:.0e}"
            yield session.race(f"{title}, simulate", plain, of(problem, ours=False), error, FASTER)
            yield session.race(f"{title}, prepared", prepared, of(problem, ours=False), error, FASTER)


FIGURE = Figure(
    "stiff_daes", "stiff DAEs of index 1", evaluate, tuple(case.name for name in PROBLEMS for case in cases(name))
)
