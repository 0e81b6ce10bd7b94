"""Runs of bodies that touch: hard contacts with friction."""
