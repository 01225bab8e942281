"""The machine as it would be after a plan, and whether the cure holds there."""
