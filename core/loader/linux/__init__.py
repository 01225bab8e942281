"""Where glibc's ld.so looks for a library: its policy, its cache, its search, and what a process then has loaded."""
