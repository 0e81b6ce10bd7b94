"""SciPy's `solve_ivp` call, answered by the core."""
