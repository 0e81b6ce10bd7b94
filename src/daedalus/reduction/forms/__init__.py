"""Other forms of a model: explicit, linear, torn, first order, semi-explicit."""
