"""The doors one writes a model through: equations, energies, bodies and joints."""
