"""What a method is: the table of methods, tableaux, orders."""
