"""The GPU convolution benchmark: are the results correct, from the right files, and as fast as they should be?"""
