"""From measurements to a model: parameters and start values that fit data, and how well they are known."""
