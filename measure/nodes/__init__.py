"""Several nodes: where ranks and their replicas are, and how a supervisor reaches other hosts."""
