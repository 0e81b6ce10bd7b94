"""Dead centres and folds: where constraints or equations lose rank along a run."""
