"""What compiles, links and starts containers on this machine."""
