"""Writing a model down: variables, equations, energies, bodies."""
