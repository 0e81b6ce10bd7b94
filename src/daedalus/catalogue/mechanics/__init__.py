"""Known mechanical systems."""
