"""Setup.exe, the MSI and the portable zip."""
