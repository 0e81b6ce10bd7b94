"""The machine code of the system that is run, and its way onto the constraints."""
