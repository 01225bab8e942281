"""The exit statuses of the program, a public contract (docs/for-administrators.md)."""

OK, FOUND, USAGE, FAILED, REFUSED, UNEXAMINED, STUCK = range(7)
"""Nothing wrong; an error finding; used wrongly; Convalesce itself failed; a fix refused or rolled back; nothing wrong was
found, but something that was named or would be loaded here could not be examined; a change is stuck halfway,
and is undone at the next start."""
INTERRUPTED = 130
