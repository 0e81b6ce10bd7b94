"""Rotations, frames and inertia for numbers and symbols alike: what knows no model."""
