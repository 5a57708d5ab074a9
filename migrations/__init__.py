"""The history of the schema, one file per revision; see README.md. Imports none of our packages."""
