"""A Report as text, HTML, Markdown or JSON; redaction, comparison, triage, session codes, help pages."""
