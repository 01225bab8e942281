"""Prefixes of the names of findings that other modules recognise, so that nothing imports a rule for its name."""

LIBRARIES_ID = "libraries-"
"""Missing dependencies of a package's own binaries; the distribution follows."""

UNFIT_ID = "does-not-load-"
"""A compiled module that the loader rejects; the package follows."""

ENDED_ID = "import-ends-"
"""An import that ends at something that is missing; the requested module follows."""

OF_WHOLE_VARIABLES = ("environment.plain-path",)
"""Findings about how a search path is stored, for which what it should lead to is not found."""
