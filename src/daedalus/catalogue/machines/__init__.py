"""Machines joined from parts, each with a ledger whose balance closes."""
