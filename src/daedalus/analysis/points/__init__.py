"""Points that a system is looked at: completed, at rest, at random on its constraints."""
