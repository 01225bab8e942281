"""How Windows finds DLLs: its search, the policies, and a file's signature."""
