"""Cases on an NVIDIA GPU: the kernels of lanes as PTX, run through the CUDA driver alone."""
