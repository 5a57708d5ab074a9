"""Runs training under faults and writes run records. Never imports `advisor`, `db` or `app`."""
