"""Runs of models with noise."""
