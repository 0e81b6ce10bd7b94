"""Formulas to be read: expressions put in order and written as text, LaTeX or MathML, in the user's names."""
