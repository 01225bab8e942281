# Intune, Remediations: the remediation script, with the logged-on credentials. It is shown, rehearsed, journalled, and can be
# undone with "convalesce undo". What needs an administrator, a download or a decision is left alone.
$program = Join-Path $env:ProgramW6432 'Convalesce\convalesce.exe'
& $program fix --yes
exit $LASTEXITCODE
