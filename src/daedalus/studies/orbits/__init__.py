"""Periodic orbits by collocation, and branches of them."""
