"""Runs by linear multistep methods of fixed step."""
