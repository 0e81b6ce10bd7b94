"""Constraints that follow from others: which are kept, and the multipliers that remain."""
