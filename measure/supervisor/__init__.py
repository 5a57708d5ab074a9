"""What starts, watches and ends the ranks of a run."""
