"""Reports: a model and its run as one page to read, to keep and to print."""
