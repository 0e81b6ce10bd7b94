"""What interrupts a run: outputs aside, events with their guards and resets."""
