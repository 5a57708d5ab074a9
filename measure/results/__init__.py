"""What is left of a run: its record, its environment, its validity."""
