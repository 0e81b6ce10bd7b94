"""Models and results as notebooks show them: small pieces of HTML that need no script."""
