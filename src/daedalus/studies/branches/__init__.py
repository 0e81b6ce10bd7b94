"""Follow equilibria over a parameter, and find where they turn, split or begin to oscillate."""
