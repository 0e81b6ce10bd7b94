"""From a problem over time to a nonlinear program: collocation, shooting, ends and conditions."""
