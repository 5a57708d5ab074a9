"""Training architectures: one plug-in a file, listed in catalogue.py."""
