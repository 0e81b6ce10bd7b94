"""What-if pages: sliders that move curves and motion at once, from stored sensitivities checked against re-runs."""
