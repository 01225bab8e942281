"""Typed tables of resources/knowledge, and the meaning of CUDA's and cuDNN's file names."""
