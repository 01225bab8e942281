"""cuDNN, called through its C interface."""
