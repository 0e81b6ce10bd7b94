"""The frozen snapshot of a model, and how a notebook becomes one."""
