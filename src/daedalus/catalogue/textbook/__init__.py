"""Known systems of textbooks: small DAEs, populations, test equations."""
