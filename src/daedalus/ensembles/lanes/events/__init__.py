"""Events in kernels: guards watched along steps, steps cut where they pass zero, resets."""
