"""Running a model: methods, inputs, events, results."""
