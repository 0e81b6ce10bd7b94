"""What runs inside a measuring process: every file has `measure(options)`, which yields records."""
