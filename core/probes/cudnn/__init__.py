"""Look for copies of cuDNN and read them."""
