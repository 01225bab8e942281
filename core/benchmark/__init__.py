"""The GPU convolution benchmark: is it right, from the right files, and as fast as it should be."""
