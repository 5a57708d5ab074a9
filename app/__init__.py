"""The web app. It is built on `advisor` and reads nothing below `db.queries`."""
