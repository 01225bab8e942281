"""Read the headers of ELF and PE files, and find libraries as each system's loader does.

image, elf and pe read headers; sections locates the parts of a file, and contents, exports, symbols, cudnn_version and
fatbin read them. linux and windows search like each system's loader. Everything runs on either system, and nothing here
loads or maps a file.
"""
