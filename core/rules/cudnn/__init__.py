"""Rules about copies of cuDNN and how consumers load them."""
