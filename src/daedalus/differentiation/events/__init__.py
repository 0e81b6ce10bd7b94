"""Derivatives through events, jumps and corners."""
