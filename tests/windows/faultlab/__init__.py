"""The Windows fault lab: real and stand-in DLLs in a real prefix, one fault at a time, scanned, cured and taken back."""
