"""Models that leave the package and models that enter it."""
