"""Derivatives of the steps themselves, forward and backward."""
