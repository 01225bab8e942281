"""The verdict for engines: what a monitor, a scheduler or a CI asks for, in the form that it reads."""
