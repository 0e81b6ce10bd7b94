"""Known circuits."""
