"""How a system starts: given and guessed values made consistent with the equations and all that is hidden in them."""
