"""What a method is: the list of methods, tableaux, orders."""
