"""What a run leaves behind: values by name, dense output, files."""
