"""SciPy's calls `solve_ivp` and `solve_dae` on the same road."""
