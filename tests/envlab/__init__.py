"""The environment lab: Python environments of every kind, each with the cell of the grid that it must get."""
