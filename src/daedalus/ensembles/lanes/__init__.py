"""Cases on lanes: whole kernels (time loop, stages and model together) that run several cases at once."""
