"""Start-up files as text: what their lines do to variables, by reading alone, and how one line is edited."""
