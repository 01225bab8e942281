"""Look at the driver, the kernel and the GPUs."""
