"""Two seconds of quadrotor flight inside JAX with the gradient by 80 thrusts, beside diffrax at an equal error."""

from collections.abc import Iterator

import numpy as np

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

RTOL, BATCH = 1e-8, 256
# How many times faster than diffrax.
TARGETS = {"gradient": 5.0, "batch": 3.0}
TITLES = {"gradient": "loss and gradient", "batch": f"{BATCH} losses and gradients"}


def evaluate(session: Session) -> Iterator[Row]:
    options = {"seconds": session.settings.seconds, "rtol": RTOL, "batch": BATCH}
    ours = session.probe("flight_gradients", {**options, "tool": "daedalus"})
    peer = session.probe("flight_gradients", {**options, "tool": "diffrax"}, tool="diffrax")
    exact = session.probe("flight_gradients", {**options, "tool": "daedalus", "rtol": 1e-12, "batch": 1})
    failure = ours.failure or peer.failure or exact.failure
    for name, target in TARGETS.items():
        seconds = [outcome.records[0][name] if outcome.records else None for outcome in (ours, peer)]
        note = failure or ""
        if not failure:
            one, other, right = (np.array(outcome.records[0]["slope"]) for outcome in (ours, peer, exact))
            errors = [np.abs(found - right).max() / np.abs(right).max() for found in (one, other)]
            firsts = [outcome.records[0][f"{name}_first"] for outcome in (ours, peer)]
            note = (
                f"errors of the gradient {errors[0]:.0e} and {errors[1]:.0e}; "
                f"first calls {firsts[0]:.1f} s and {firsts[1]:.1f} s"
            )
        yield Row(f"flight in JAX, {TITLES[name]}", "diffrax", *seconds, target, note=note)


FIGURE = Figure("flight_gradients", "quadrotor flight inside JAX", evaluate)
