"""Plans made again and again as time goes on: controllers, their loops, and what keeps them stable."""
