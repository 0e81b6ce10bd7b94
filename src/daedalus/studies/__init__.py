"""Questions asked with several runs: convergence, singular limits."""
