"""Models of biochemistry as SBML files hold them: quantities, formulas, units and events."""
