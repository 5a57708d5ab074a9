"""Monitors: what notices failures that are not losses, listed in catalogue.py."""
