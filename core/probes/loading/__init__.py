"""What each consumer's loader finds, and whether every library of cuDNN answers."""
