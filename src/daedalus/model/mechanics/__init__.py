"""Equations of motion from energies, bodies and constraints, and the functions they give."""
