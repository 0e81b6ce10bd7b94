"""Looking at results: plots and reports."""
