# Intune, Win32 app or MSI: the detection rule. Installed is what prints a line and exits with 0.
# Asked for is at least this version, for everybody: the MSI's, or that of Setup.exe /S /ALLUSERS.
$wanted = [version]'0.1.0'
$program = Join-Path $env:ProgramW6432 'Convalesce\convalesce.exe'
if (-not (Test-Path $program)) { exit 1 }
$found = [version](Get-Item $program).VersionInfo.ProductVersion
if ($found -lt $wanted) { exit 1 }
Write-Output "Convalesce $found"
exit 0
