"""Runge–Kutta methods as tables of coefficients, and what can be proved of them."""
