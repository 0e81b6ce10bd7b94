"""The stages of implicit Runge–Kutta steps, read from the polynomials that the core left over its steps.

Of a collocation method the derivative of the polynomial at t + c_i h is the stage K_i, and its value of z is Z_i.
Radau's own method adds to the polynomial through its stages a multiple of

    q(θ) = ∫ Π_i (1 - τ / c_i) dτ from 0 to θ,

whose derivative is zero at all stages; it is known by the highest power of θ, which the stages alone do not have. For
other methods what is read is near the stages: whoever needs them exactly measures their residual first.
"""

from __future__ import annotations

import numpy as np

from daedalus.simulation.between.dense import Dense


def stages_of_run(c: np.ndarray, dense: Dense, n: int) -> np.ndarray:
    """(K_i, Z_i) at the nodes c of every step, (steps, stages, n + nz), from polynomials of rows (x, z, x').

    Example
    -------
    >>> import numpy as np
    >>> line = Dense(np.array([0.0]), np.array([2.0]), np.array([[[1.0, 3.0], [6.0, 0.0]]]))  # x = 1 + 3 t, x' = 3
    >>> stages_of_run(np.array([0.5, 1.0]), line, 1).ravel().tolist()
    [3.0, 3.0]
    """
    coefficients = dense.coefficients
    degree, size = coefficients.shape[1] - 1, coefficients.shape[2] - n
    powers = np.vander(c, degree + 1, increasing=True)
    values = powers[:, : degree + 1]
    stages = np.empty((len(coefficients), len(c), size))
    stages[:, :, :n] = values @ coefficients[:, :, size:]
    if size > n:
        of_z = coefficients[:, :, n:size]
        if degree == len(c) + 1:
            through = np.polynomial.Polynomial.fromroots(c)
            bent = (through / through(0.0)).integ()
            values = values.copy()
            values[:, -1] -= bent(c) / bent.coef[-1]
        stages[:, :, n:] = values @ of_z
    return stages
