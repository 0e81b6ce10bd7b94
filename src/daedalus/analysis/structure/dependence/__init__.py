"""Equations that repeat each other: null vectors, and what they leave open."""
