"""Formulas as a person would write them: terms collected and cancelled, common factors out, checked by numbers."""
