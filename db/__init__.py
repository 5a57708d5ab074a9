"""The database: schema, queries and loading. Never imports `advisor`, `app` or `measure`."""
