"""A few fixed steps as a CasADi function with exact derivatives."""
