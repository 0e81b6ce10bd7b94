"""Values between the steps of a run: dense output, and what it is brought onto."""
