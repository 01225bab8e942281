"""Whether a fault of this machine causes an error text: families of messages, the faults that produce them, and objections."""
