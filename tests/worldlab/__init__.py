"""The world lab: real frameworks and libraries with one fault each, and an oracle that runs the real program."""
