"""Formulas on lanes: LLVM text that computes several cases at once, of one text for processors and GPUs."""
