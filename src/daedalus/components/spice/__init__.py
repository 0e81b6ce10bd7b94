"""Circuits from SPICE netlists."""
