"""Rules about the driver and the GPUs."""
