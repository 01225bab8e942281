"""The wizard. Imports core; nothing imports gui."""
