"""Fault-tolerance mechanisms: one plug-in a file, listed in catalogue.py."""
