"""Nonlinear programs made of small compiled functions, and the solvers they are given to."""
