"""The pendulum in Cartesian coordinates with its rod at three levels: index 3, 2 and 1 of one motion.

x = (x, y, vx, vy, λ):  x' = v,  v' = -λ x - (0, g),  and one of
    0 = x² + y² - 1,   0 = x vx + y vy,   0 = vx² + vy² - λ (x² + y²) - g y.
"""

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.problem import OdeForm, Problem, Rhs

GRAVITY = 9.81
END = 20.0


def equations_of(index: int) -> Callable[[Any], Rhs]:
    """The right-hand side with the rod's equation of that index."""

    def equations(m: Any) -> Rhs:
        def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
            out[0] = x[2]
            out[1] = x[3]
            out[2] = -x[4] * x[0]
            out[3] = -x[4] * x[1] - p[0]
            if index == 3:
                out[4] = x[0] * x[0] + x[1] * x[1] - 1.0
            elif index == 2:
                out[4] = x[0] * x[2] + x[1] * x[3]
            else:
                out[4] = x[2] * x[2] + x[3] * x[3] - x[4] * (x[0] * x[0] + x[1] * x[1]) - p[0] * x[1]

        return rhs

    return equations


def angle(m: Any) -> Rhs:
    """The angle from the horizontal and its rate: x = cos a, y = sin a."""

    def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
        out[0] = x[1]
        out[1] = -p[0] * m.cos(x[0])

    return rhs


def from_angle(m: Any, x: Sequence[float]) -> Sequence[float]:
    c, s = m.cos(x[0]), m.sin(x[0])
    return [c, s, -s * x[1], c * x[1], x[1] * x[1] - GRAVITY * s]


def in_coordinates() -> tuple[Any, dict[str, Any], str]:
    """Energies and a rod, as Daedalus takes mechanics."""
    import casadi

    import daedalus as dd

    m = dd.Model("pendulum")
    position = m.coordinate("position", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * casadi.sumsqr(m.rate(position)))
    m.potential_energy(GRAVITY * position[1])
    m.constraint("rod", 0.5 * (casadi.sumsqr(position) - 1.0))
    return m, {}, "position"


def pendulum(index: int) -> Problem:
    """Twenty seconds from rest in the horizontal, judged by positions and velocities."""
    return Problem(
        name=f"pendulum_index_{index}",
        title=f"pendulum, index {index}, t = 20",
        equations=equations_of(index),
        start=(1.0, 0.0, 0.0, 0.0, 0.0),
        parameters=(GRAVITY,),
        end=END,
        mass=tuple(tuple(1.0 if i == j < 4 else 0.0 for j in range(5)) for i in range(5)),
        index=index,
        judged=(0, 1, 2, 3),
        mechanics=in_coordinates if index == 3 else None,
        ode=OdeForm(angle, (0.0, 0.0), from_angle),
        reference=REFERENCE,
        tolerances=(1e-3, 1e-10),
        source="E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, VII.1; end values by the angle",
    )


REFERENCE = (
    -0.9969071739909918,
    -0.07858808080933316,
    -0.09758532797668899,
    1.237891452932283,
    2.3128472182186752,
)
