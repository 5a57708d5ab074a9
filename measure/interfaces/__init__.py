"""The interfaces that plug-ins implement."""
