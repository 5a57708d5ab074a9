"""Decides which fault-tolerance mechanism finishes a training job soonest, with its evidence."""
