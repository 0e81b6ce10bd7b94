"""A Python function read as a formula."""
