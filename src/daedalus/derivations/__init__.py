"""From what was written to what is solved, as steps that can be read and that were checked by numbers."""
