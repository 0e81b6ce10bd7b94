"""Motions that obey conditions at several times."""
