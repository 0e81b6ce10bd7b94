"""What a user says about a problem: conditions, bounds, kinds of inputs."""
