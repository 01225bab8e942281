"""The four screens: what does not work, the cause, what will change, fixed."""
