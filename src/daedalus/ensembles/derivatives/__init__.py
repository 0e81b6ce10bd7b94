"""Derivatives of the cases of a sweep: on lanes beside them, and by the scalar core."""
