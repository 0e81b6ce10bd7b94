"""Pictures of branches of equilibria and of their special points."""
