"""Load every library of a cuDNN in a child process and call it."""
