"""How a loader finds libraries: headers of images, and search policies of both systems."""
