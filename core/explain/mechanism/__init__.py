"""Whether a fault of this machine causes a given error text: complaints in texts, what faults cause, and objections."""
