"""Derivatives of runs whose bodies touch."""
