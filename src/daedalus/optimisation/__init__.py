"""Choose inputs: optimal control problems and the plans that solve them."""
