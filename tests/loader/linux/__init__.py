"""Tests of the search of glibc's ld.so."""
