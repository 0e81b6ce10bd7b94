"""The two ends of a plan: what is fixed there, what of it is independent, and what is the same at both."""
