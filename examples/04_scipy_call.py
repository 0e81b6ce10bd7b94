"""A SciPy call as it is, in machine code."""

import numpy as np

import daedalus as dd


def lorenz(t, state, sigma, rho, beta):
    x, y, z = state
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def crossing(t, state, *args):
    return state[2] - 25.0


result = dd.solve_ivp(lorenz, (0, 20), [1.0, 1.0, 1.0], args=(10.0, 28.0, 8 / 3), events=crossing, rtol=1e-8, atol=1e-8)
print(result.message)
print("traced:", result.traced, "- crossings of z = 25:", len(result.t_events[0]), "- evaluations:", result.nfev)
