"""Tell a Report: text, HTML, Markdown, JSON, redaction, comparison, triage, session code, help pages."""
