"""Which states are integrated where constraints leave a choice."""
