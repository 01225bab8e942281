"""The verbs that the window and the command line share."""
