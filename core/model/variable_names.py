"""Environment variables that several parts of the program ask for, by what they do."""

HIDING_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
"""Variables with which CUDA hides GPUs from a program.

NVIDIA_VISIBLE_DEVICES (read when a container starts) and GPU_DEVICE_ORDINAL do not: cuInit of driver 580.159.04
returned both GPUs with any value of either.
"""
LOADER_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT")
"""Lists of folders and libraries that ld.so reads (ld.so(8))."""
PRELOADED = ("LD_PRELOAD", "LD_AUDIT")
"""Those of them whose entries may also be separated by blanks."""
CUDA_WORDS = ("cuda", "cudnn", "nvidia", "tensorrt")
"""Words in a folder's path that show that it has to do with GPU libraries."""
