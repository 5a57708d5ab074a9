"""Alembic's entry point: runs the migrations on a connection that the caller made.

`db.migrate` hands over its own connection, already inside a transaction and holding the lock.
The developers' `alembic` command (alembic.ini) has none, and connects by ADVISOR_DB_URL.
"""

import os

from alembic import context
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool


def run(connection: Connection) -> None:
    """Runs the migrations; batch mode, because SQLite cannot alter a table in place."""
    context.configure(
        connection=connection,
        target_metadata=context.config.attributes.get("target_metadata"),
        render_as_batch=True,
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def run_with_own_connection() -> None:
    """For developers: needs ADVISOR_DB_URL, for example sqlite:////tmp/try.db."""
    url = os.environ.get("ADVISOR_DB_URL")
    if not url:
        raise SystemExit("set ADVISOR_DB_URL, for example to sqlite:////tmp/try.db")
    url = url.replace("postgresql://", "postgresql+psycopg://", 1)
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        run(connection)


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
elif context.is_offline_mode():
    raise SystemExit("offline mode is not supported: views differ; run against a database")
else:
    run_with_own_connection()
