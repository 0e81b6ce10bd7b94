"""Sliding along conditions: what a run does where both branches of one lead back to it."""
