"""The parts of a derivation: Lagrange, bodies, connections, reduction, start values, linearisation, first order."""
