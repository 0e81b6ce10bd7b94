"""Diodes and transistors: the laws that SPICE uses, with words as keywords."""
