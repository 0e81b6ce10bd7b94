"""Derivatives through instants: clocks, schedules, conditions and discrete variables."""
