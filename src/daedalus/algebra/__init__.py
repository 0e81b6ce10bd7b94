"""Ranks of matrices, roots of equations, manifolds: what knows no Model."""
