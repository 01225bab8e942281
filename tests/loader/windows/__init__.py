"""Tests of Windows' search for a DLL, and of signatures."""
