"""Derivatives of solutions: how a result changes with its start, inputs and parameters."""
