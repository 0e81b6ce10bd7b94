"""The Pleiades: seven stars in a plane, masses 1 to 7, with close encounters; 28 states, t = 3."""

from typing import Any

from benchmarks.problem import Problem, Rhs


def equations(m: Any) -> Rhs:
    sqrt = m.sqrt

    def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
        for i in range(7):
            out[i], out[7 + i] = x[14 + i], x[21 + i]
            ax, ay = 0.0, 0.0
            for j in range(7):
                if i != j:
                    dx, dy = x[j] - x[i], x[7 + j] - x[7 + i]
                    squared = dx * dx + dy * dy
                    pull = (j + 1) / (squared * sqrt(squared))
                    ax = ax + pull * dx
                    ay = ay + pull * dy
            out[14 + i], out[21 + i] = ax, ay

    return rhs


# x, y, x', y' of the seven stars
START = (
    *(3.0, 3.0, -1.0, -3.0, 2.0, -2.0, 2.0),
    *(3.0, -3.0, 2.0, 0.0, 0.0, -4.0, 4.0),
    *(0.0, 0.0, 0.0, 0.0, 0.0, 1.75, -1.5),
    *(0.0, 0.0, 0.0, -1.25, 1.0, 0.0, 0.0),
)

PROBLEM = Problem(
    name="pleiades",
    title="Pleiades, 28 states, t = 3",
    equations=equations,
    start=START,
    end=3.0,
    reference=(
        0.3706139143970548,
        3.2372840920572328,
        -3.2225590324183235,
        0.6597091455775308,
        0.34255817071565847,
        1.562172101400631,
        -0.7003092922212503,
        -3.943437585517388,
        -3.27138097397255,
        5.225081843456542,
        -2.5906124349774693,
        1.1982136933922742,
        -0.24296823449358232,
        1.0914492404289802,
        3.417003806314324,
        1.3545845016255011,
        -2.590065597810775,
        2.0250537347142394,
        -1.1558151001604453,
        -0.8072988170223023,
        0.5952396354208689,
        -3.741244961234003,
        0.3773459685750629,
        0.9386858869551064,
        0.36679222272005674,
        -0.3474046353808488,
        2.344915448180937,
        -1.9470204342632924,
    ),
    source="Hairer, Nørsett, Wanner: Solving Ordinary Differential Equations I, II.10",
)
