"""Where the search for a plan begins."""
