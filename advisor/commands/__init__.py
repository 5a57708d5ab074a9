"""The commands, one verb a file; `advisor.cli` imports each when it runs."""
