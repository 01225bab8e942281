# Intune, Remediations: the detection script. Run with the logged-on credentials: the user's variables decide what is found.
$program = Join-Path $env:ProgramW6432 'Convalesce\convalesce.exe'
if (-not (Test-Path $program)) { Write-Output 'Convalesce is not installed.'; exit 0 }
& $program check --form intune --quiet --time-limit 120 --length 2048
exit $LASTEXITCODE
