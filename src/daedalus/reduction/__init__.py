"""Making a model solvable: index reduction, other forms, elimination, explicit forms."""
