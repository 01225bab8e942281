"""What makes and keeps the catalogues of other languages; no part of the program."""
