"""What a model looks like: shapes that were written, and joints as they are drawn."""
