"""Where glibc's ld.so looks for a library: its policy, its cache, the search, and a process as it fills."""
