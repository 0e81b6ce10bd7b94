"""Plans and what can be asked of them."""
