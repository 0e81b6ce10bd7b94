"""Ten seconds of quadrotor flight at equal achieved error, whole public calls from Python."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

OURS, PREPARED = "quadrotor/daedalus:dop853", "quadrotor/daedalus:prepared-dop853"
SCIPY, NUMBALSODA = "quadrotor/scipy:DOP853", "quadrotor/numbalsoda:dop853"
# Compiled DOP853 codes: the first stands in where numbalsoda does not install, the second shows what C alone reaches.
CYRK, C_CODE = "quadrotor/cyrk:DOP853", "quadrotor/c_dop853:dop853"
ERRORS = (1e-5, 1e-8)


def evaluate(session: Session) -> Iterator[Row]:
    missing = session.curve(NUMBALSODA).reason() is not None
    for error in ERRORS:
        title = f"quadrotor 10 s, error {error:.0e}"
        yield session.compare(f"{title}, simulate", OURS, SCIPY, error, target=10.0)
        # numbalsoda takes an address and arrays, as a prepared run does; simulate takes names and makes a trajectory.
        yield session.compare(f"{title}, prepared", PREPARED, NUMBALSODA, error, target=1.0)
        yield session.compare(f"{title}, simulate", OURS, NUMBALSODA, error, target=1.0, note="names and trajectory")
        if missing:
            yield session.compare(
                f"{title}, prepared", PREPARED, CYRK, error, target=1.0, note="in place of numbalsoda"
            )
        yield session.compare(f"{title}, prepared", PREPARED, C_CODE, error, target=None, note="in C only")


FIGURE = Figure(
    "quadrotor_flight", "quadrotor flight", evaluate, needs=(OURS, PREPARED, SCIPY, NUMBALSODA, CYRK, C_CODE)
)
