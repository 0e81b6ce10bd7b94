"""What drives a run: numbers, tables, functions and expressions, and derivatives of them."""
