"""What the headers of ELF and PE files say, and where each system's loader looks for a library.

image, elf and pe read headers; sections finds what is inside, and contents, exports, symbols, cudnn_version and fatbin
read it. linux and windows search as each system's loader does. All of it runs on either system, and nothing here loads or
maps a file.
"""
