"""Equations with their time derivatives, and jets that obey them."""
