"""The car axis: a bar on two springs over a bumpy road, with a constraint that contains the time, at index 3 and 1.

x = (p, v, λ), 4 + 4 + 2:  p' = v,  K v' = f(t, p) + G(t, p)ᵀ λ,  0 = g(t, p) or its second derivative.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.problem import Problem, Rhs

LENGTH, REST, EPSILON, MASS, HEIGHT, SPEED = 1.0, 0.5, 0.01, 10.0, 0.1, 10.0
WEIGHT = EPSILON * EPSILON * MASS / 2.0


def equations_of(index: int) -> Callable[[Any], Rhs]:
    """The right-hand side with the constraints of that index."""

    def equations(m: Any) -> Rhs:
        def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
            for i in range(4):
                out[i] = x[4 + i]
            yb = HEIGHT * m.sin(SPEED * t)
            xb = m.sqrt(LENGTH * LENGTH - yb * yb)
            dx, dy = x[2] - xb, x[3] - yb
            bx, by = x[0] - x[2], x[1] - x[3]
            left = m.sqrt(x[0] * x[0] + x[1] * x[1])
            right = m.sqrt(dx * dx + dy * dy)
            push, pull = (REST - left) / left, (REST - right) / right
            out[4] = push * x[0] + x[8] * xb + 2.0 * x[9] * bx
            out[5] = push * x[1] + x[8] * yb + 2.0 * x[9] * by - WEIGHT
            out[6] = pull * dx - 2.0 * x[9] * bx
            out[7] = pull * dy - 2.0 * x[9] * by - WEIGHT
            if index == 3:
                out[8] = x[0] * xb + x[1] * yb
                out[9] = bx * bx + by * by - LENGTH * LENGTH
                return
            # The road's velocity and acceleration; K times the second derivatives of both constraints.
            dyb, ddyb = HEIGHT * SPEED * m.cos(SPEED * t), -SPEED * SPEED * yb
            dxb = -yb * dyb / xb
            ddxb = -(dyb * dyb + yb * ddyb + dxb * dxb) / xb
            moving = 2.0 * (x[4] * dxb + x[5] * dyb) + x[0] * ddxb + x[1] * ddyb
            out[8] = out[4] * xb + out[5] * yb + WEIGHT * moving
            turning = (x[4] - x[6]) * (x[4] - x[6]) + (x[5] - x[7]) * (x[5] - x[7])
            out[9] = bx * (out[4] - out[6]) + by * (out[5] - out[7]) + WEIGHT * turning

        return rhs

    return equations


def in_coordinates() -> tuple[Any, dict[str, Any], str]:
    """The catalogue's model in coordinates and energies."""
    import daedalus as dd

    return dd.catalogue.load("car_axis").model, {}, "position"


DIAGONAL = (1.0,) * 4 + (WEIGHT,) * 4 + (0.0,) * 2


def axle(index: int) -> Problem:
    """The problem of the test set, judged by positions and velocities."""
    return Problem(
        name=f"car_axis_index_{index}",
        title=f"car axis, index {index}, t = 3",
        equations=equations_of(index),
        start=(0.0, 0.5, 1.0, 0.5, -0.5, 0.0, -0.5, 0.0, 0.0, 0.0),
        end=3.0,
        mass=tuple(tuple(DIAGONAL[i] if i == j else 0.0 for j in range(10)) for i in range(10)),
        index=index,
        judged=tuple(range(8)),
        reference=REFERENCE,
        scale=1e-30,
        mechanics=in_coordinates if index == 3 else None,
        tolerances=(1e-3, 1e-10),
        in_default_run=False,
        source="Mazzia, Magherini: Test Set for IVP Solvers, release 2.4, Car Axis",
    )


# python -m benchmarks.collocation_reference car_axis_index_1 150
REFERENCE = (
    0.04934557842752431,
    0.49698946023000806,
    1.0417425248854264,
    0.3739110272653659,
    -0.07705836840359202,
    0.007446866592068448,
    0.017556815753542857,
    0.7703410437796102,
    -0.0047368865908533515,
    -0.001104680331259578,
)
