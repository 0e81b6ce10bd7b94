"""The pendulum and Andrews' mechanism at index 1, 2 and 3: all succeed, and faster than the peers that do."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.figures.stiff_daes import cases, of
from benchmarks.session import Session

# What "succeeds" means: positions and velocities at the end within this error.
SUCCESS = 1e-4
ERRORS = (1e-3, 1e-5)
PENDULUM, SQUEEZER = 3.0, 2.0
PROBLEMS = tuple(f"{name}_index_{index}" for name in ("pendulum", "andrews") for index in (1, 2, 3))
COMPILED = "casadi:idas compiled"


def evaluate(session: Session) -> Iterator[Row]:
    for problem in PROBLEMS:
        ours, peers = of(problem, ours=True), of(problem, ours=False)
        plain = [name for name in ours if ":prepared-" not in name]
        direct = [name for name in plain if "radau" in name]
        yield session.reaches(f"{problem} succeeds", plain, SUCCESS)
        yield session.reaches(f"{problem} succeeds as written", direct, SUCCESS)
        for error in ERRORS:
            title = f"{problem}, error {error:.0e}"
            # A peer on the ODE form solves another problem: it stands in the sheets, not in the race.
            solvers = [name for name in peers if "/scipy:" not in name]
            target = PENDULUM if problem.startswith("pendulum") else None
            yield session.race(title, plain, solvers, error, target)
            yield session.race(f"{title}, as written", direct, solvers, error, None)
            if problem == "andrews_index_1":
                yield session.race(title, plain, [f"{problem}/{COMPILED}"], error, SQUEEZER)


FIGURE = Figure(
    "index_1_2_3",
    "pendulum and Andrews' mechanism at index 1, 2 and 3",
    evaluate,
    tuple(case.name for name in PROBLEMS for case in cases(name)),
)
