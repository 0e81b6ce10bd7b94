"""Sensitivities by letter and by name, and how they are checked."""
