"""Start-up files as text: what their lines do to variables, without running them, and how to edit one line."""
