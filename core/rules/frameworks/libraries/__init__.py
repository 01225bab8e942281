"""What frameworks' own binaries lack: the lack, its finding, its cure, and one card for it."""
