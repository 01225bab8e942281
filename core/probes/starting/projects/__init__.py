"""Ways of starting that the files of a project describe."""
