"""The web app, on top of `advisor` and `db.queries`. Start it with `advisor app`."""
