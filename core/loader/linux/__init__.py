"""How glibc's ld.so finds libraries: its policy, its cache, its search, and the libraries that a process then has loaded."""
