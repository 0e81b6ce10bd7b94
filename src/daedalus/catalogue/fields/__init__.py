"""Fields and networks: few formulas, repeated over many cells, sections or buses."""
