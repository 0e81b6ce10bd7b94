"""Understanding a system: linear systems, pencils, linearisation, equilibria."""
