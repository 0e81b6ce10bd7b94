"""Contacts along a run: which frictions stick, which constraints push, what an impact does."""
