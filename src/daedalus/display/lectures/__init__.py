"""Figures of lectures: Newton's method, step sizes, work and precision, several stability regions, drift, energies."""
