"""Typed tables of resources/knowledge, and what the file names of CUDA and cuDNN say."""
