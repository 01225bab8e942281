"""What a command line finally starts: the words before the command, the Python, the program, and what it lacks."""
