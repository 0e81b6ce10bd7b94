"""A Python function turned into a formula by running it on recording numbers."""
