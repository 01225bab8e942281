"""Machines that differ from the made ones in one fact, and what the rules then say."""
