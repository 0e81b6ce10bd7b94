"""Matrix pencils s E - A: their parts, scaling, reachable and proper forms."""
