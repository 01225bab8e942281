"""Setup.exe and the portable zip."""
