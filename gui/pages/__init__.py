"""The pages of the wizard."""
