"""The instruction list of an SX function as CasADi keeps it, read all at once."""
