"""What the headers of ELF and PE files say, and where each system's loader looks for a library.

images (elf, pe) reads headers; contents, exports, versions and fatbin what is inside (sections finds it); linux (ldso,
ldcache) and windows (winpolicy) search. All of it runs on either system, and nothing here loads or maps a file.
"""
