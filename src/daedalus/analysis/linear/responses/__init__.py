"""Exact responses of linear systems to inputs over time."""
