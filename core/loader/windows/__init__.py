"""Where Windows looks for a DLL, by which policy, and what a file's signature says."""
