"""The Windows world lab: real frameworks' wheels under wine with one fault each, and an oracle that loads their own DLLs."""
