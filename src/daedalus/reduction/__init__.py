"""Making a model solvable: explicit forms."""
