"""How often each equation is differentiated, and the derivatives themselves."""
