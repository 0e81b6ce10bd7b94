"""Conditions in equations along a run: when they change, and steps over them."""
