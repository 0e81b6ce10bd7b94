"""The numbers of the Rosenbrock methods for stiff systems and index 1, as published, and their core objects.

One step from w = (x, z) of M x' = f(t, w), with J = ∂f/∂w and M constant:

    (M / (h γ) − J) k_i = f(t + α_i h, w + Σ_j a_ij k_j) + M Σ_j c_ij k_j / h + h γ_i ∂f/∂t,    w_new = w + Σ_j m_j k_j

`rodas4`: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd edition 1996, section VI.4 (RODAS), six
stages, order 4(3). `rodas5p`: G. Steinebach, Construction of Rosenbrock–Wanner method Rodas5P and numerical benchmarks
within the Julia Differential Equations package, BIT Numerical Mathematics 63:27, 2023, eight stages, order 5(4), made
to lose little of it on Prothero and Robinson's problem. Both are L-stable and stiffly accurate, the error estimate is
the last k, and the dense output, of one order less, is

    w(t + θ h) = (1 − θ) w + θ (w_new + (1 − θ) Σ_r θ^(r−1) Σ_j H_rj k_j)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True)
class RosenbrockNumbers:
    """A stiffly accurate Rosenbrock method as it is published: row i of `a` and of `c` has i entries.

    `alpha` and `gamma` of the stages that end at t + h (1 and 0) are left out, and so are the rows of `a` that follow
    from w + Σ_j a_ij k_j being the last row given plus the k between.
    """

    order: int
    alpha: tuple[float, ...]
    gamma: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    c: tuple[tuple[float, ...], ...]
    dense: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, eq=False)
class RosenbrockCoefficients:
    """All numbers of a Rosenbrock method in full matrices; row j of `powers` gives the coefficient of θ^(j+1)."""

    alpha: np.ndarray
    gamma: np.ndarray
    a: np.ndarray
    c: np.ndarray
    end: np.ndarray
    error: np.ndarray
    powers: np.ndarray
    order: int


NUMBERS = {
    "rodas4": RosenbrockNumbers(
        order=4,
        alpha=(0.0, 0.386, 0.21, 0.63),
        gamma=(0.25, -0.1043, 0.1035, -0.0362),
        a=(
            (),
            (1.544,),
            (0.9466785280815826, 0.2557011698983284),
            (3.314825187068521, 2.896124015972201, 0.9986419139977817),
            (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950),
        ),
        c=(
            (),
            (-5.6688,),
            (-2.430093356833875, -0.2063599157091915),
            (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
            (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
            (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
        ),
        dense=(
            (10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662),
            (-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872),
        ),
    ),
    "rodas5p": RosenbrockNumbers(
        order=5,
        alpha=(0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664),
        gamma=(0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069),
        a=(
            (),
            (3.0,),
            (2.849394379747939, 0.45842242204463923),
            (-6.954028509809101, 2.489845061869568, -10.358996098473584),
            (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
            (
                -7.502846399306121,
                2.561846144803919,
                -11.627539656261098,
                -0.18268767659942256,
                0.030198172008377946,
            ),
        ),
        c=(
            (),
            (-14.155112264123755,),
            (-17.97296035885952, -2.859693295451294),
            (147.12150275711716, -1.41221402718213, 71.68940251302358),
            (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
            (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
            (
                30.91273214028599,
                -3.1208243349937974,
                77.79954646070892,
                34.28646028294783,
                -19.097331116725623,
                -28.087943162872662,
            ),
            (
                37.80277123390563,
                -3.2571969029072276,
                112.26918849496327,
                66.9347231244047,
                -40.06618937091002,
                -54.66780262877968,
                -9.48861652309627,
            ),
        ),
        dense=(
            (
                25.948786856663858,
                -2.5579724845846235,
                10.433815404888879,
                -2.3679251022685204,
                0.524948541321073,
                1.1241088310450404,
                0.4272876194431874,
                -0.17202221070155493,
            ),
            (
                -9.91568850695171,
                -0.9689944594115154,
                3.0438037242978453,
                -24.495224566215796,
                20.176138334709044,
                15.98066361424651,
                -6.789040303419874,
                -6.710236069923372,
            ),
            (
                11.419903575922262,
                2.8879645146136994,
                72.92137995996029,
                80.12511834622643,
                -52.072871366152654,
                -59.78993625266729,
                -0.15582684282751913,
                4.883087185713722,
            ),
        ),
    ),
}


def rosenbrock_coefficients(name: str) -> RosenbrockCoefficients:
    """The numbers of a Rosenbrock method by its name, in full matrices.

    Example
    -------
    >>> from daedalus.integrators.tableaux.rosenbrock_coefficients import rosenbrock_coefficients
    >>> numbers = rosenbrock_coefficients("rodas4")
    >>> print(numbers.alpha, numbers.order, len(numbers.powers))
    [0.    0.386 0.21  0.63  1.    1.   ] 4 3
    """
    numbers = NUMBERS[name]
    stages = len(numbers.c)
    alpha, gamma = np.ones(stages), np.zeros(stages)
    alpha[: len(numbers.alpha)], gamma[: len(numbers.gamma)] = numbers.alpha, numbers.gamma
    a, c = np.zeros((stages, stages)), np.zeros((stages, stages))
    for i, row in enumerate(numbers.a):
        a[i, :i] = row
    for i in range(len(numbers.a), stages):
        a[i] = a[i - 1]
        a[i, i - 1] = 1
    for i, row in enumerate(numbers.c):
        c[i, :i] = row
    last = np.eye(stages)[-1]
    end = a[-1] + last
    bend = np.zeros((len(numbers.dense) + 2, stages))
    for r, row in enumerate(numbers.dense):
        bend[r + 1, : len(row)] = row
    # θ w_new − θ w + (θ − θ²) Σ_r θ^(r−1) H_r, by powers of θ.
    powers = bend[1:] - bend[:-1]
    powers[0] += end
    return RosenbrockCoefficients(alpha, gamma, a, c, end, last, powers, numbers.order)


@cache
def core_rosenbrock(name: str) -> Any:
    """A Rosenbrock method, "rodas4" or "rodas5p", as the core's own object."""
    from daedalus._core import Rosenbrock

    t = rosenbrock_coefficients(name)
    return Rosenbrock(t.alpha, t.gamma, t.a, t.c, t.end, t.error, t.powers, t.order)
