"""Linear multistep methods as objects: their coefficients, order, stability, and how they are printed."""
