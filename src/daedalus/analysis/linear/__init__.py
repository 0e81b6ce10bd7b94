"""Linear systems: responses, pencils, linearisation of a model at a point and along a run."""
