"""FMUs of other tools as parts of a model (FMI 2.0 and 3.0)."""
