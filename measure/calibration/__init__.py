"""Measures what each path of this machine takes, by itself: no training."""
