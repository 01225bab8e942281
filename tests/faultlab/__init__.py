"""The fault lab: real cuDNN wheels, real loaders, one planted fault at a time, and the cause that the scan must name."""
