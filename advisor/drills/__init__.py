"""Drills: faults that every mechanism is to survive, or to report, tried before the real ones."""
