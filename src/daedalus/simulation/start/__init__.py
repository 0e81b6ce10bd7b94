"""The row that a run begins with: read, completed, or refused in words."""
