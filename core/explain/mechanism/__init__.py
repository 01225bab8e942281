"""Whether a fault of this machine makes a text such as this one: what texts complain of, what faults cause, what objects."""
