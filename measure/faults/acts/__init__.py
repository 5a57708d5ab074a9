"""What faults do that their rank survives: one act a kind, each on the process that it strikes."""
