"""The studio: a local page on which one edits a model's values, runs it, looks at it and compares runs."""
