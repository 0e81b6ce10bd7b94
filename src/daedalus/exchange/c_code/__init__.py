"""Self-contained C99 of models: functions, fixed steps, a Makefile and a test that compares numbers."""
