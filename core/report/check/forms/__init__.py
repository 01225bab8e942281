"""The forms that engines read: each is a module of this folder and a row here."""

FORMS = ("nagios", "npd", "prom", "junit", "sarif", "github", "intune", "slurm")
