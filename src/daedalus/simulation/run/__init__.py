"""The road of a run: settings, pieces, what comes next, how it ended."""
