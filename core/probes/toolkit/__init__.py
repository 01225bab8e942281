"""Look for CUDA toolkits."""
