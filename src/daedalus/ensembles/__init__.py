"""Many runs of one model, side by side."""
