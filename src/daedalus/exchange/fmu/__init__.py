"""Models as FMUs (Functional Mock-up Units, FMI 2.0 and 3.0)."""
