"""Runge–Kutta methods as arrays of coefficients, and what can be proved of them."""
