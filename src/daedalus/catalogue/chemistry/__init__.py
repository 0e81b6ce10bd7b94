"""Known reactions."""
