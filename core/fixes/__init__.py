"""From a finding's remedy to the changes that cure it."""
