"""Databases for tests, on both engines: empty, with the schema, or with the shipped data.

Each is a copy of a template that is made once a session.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from db.load import load
from db.migrate import upgrade
from tests.db.postgres import PostgresServer

BOTH = ("sqlite", "postgresql")

Maker = Callable[[str], str]


@pytest.fixture(scope="session")
def sqlite_templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """SQLite files: `schema`, and `shipped` with the data as well."""
    folder = tmp_path_factory.mktemp("templates")
    schema, shipped = folder / "schema.db", folder / "shipped.db"
    upgrade(str(schema))
    shutil.copy(schema, shipped)
    load(str(shipped))
    return {"schema": schema, "shipped": shipped}


@pytest.fixture(scope="session")
def postgres_templates(postgres_server: PostgresServer) -> dict[str, str]:
    """PostgreSQL databases: `schema`, and `shipped` with the data as well."""
    schema = postgres_server.create_database()
    upgrade(schema)
    shipped = postgres_server.create_database(schema.rpartition("/")[2])
    load(shipped)
    return {"schema": schema, "shipped": shipped}


@contextmanager
def _made(request: pytest.FixtureRequest, template: str | None) -> Iterator[str]:
    if request.param == "sqlite":
        path = Path(request.getfixturevalue("tmp_path")) / "advisor.db"
        if template is not None:
            shutil.copy(request.getfixturevalue("sqlite_templates")[template], path)
        yield f"sqlite:///{path}"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = "template0"
    if template is not None:
        name = request.getfixturevalue("postgres_templates")[template].rpartition("/")[2]
    url = server.create_database(name)
    yield url
    server.drop_database(url)


@pytest.fixture(params=BOTH)
def empty_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database without a table; for SQLite, a file that does not exist."""
    with _made(request, None) as url:
        yield url


@pytest.fixture(params=BOTH)
def database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database with the schema and no rows."""
    with _made(request, "schema") as url:
        yield url


@pytest.fixture(params=BOTH)
def shipped_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database with the schema and the shipped data."""
    with _made(request, "shipped") as url:
        yield url


@pytest.fixture(params=BOTH)
def reading_url(request: pytest.FixtureRequest) -> str:
    """The shipped data for tests that write nothing: the template itself, which costs no copy."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("sqlite_templates")["shipped"])
    return str(request.getfixturevalue("postgres_templates")["shipped"])


@pytest.fixture
def sqlite_file(sqlite_templates: dict[str, Path], tmp_path: Path) -> Path:
    """A SQLite file with the schema and the shipped data."""
    path = tmp_path / "shipped.db"
    shutil.copy(sqlite_templates["shipped"], path)
    return path
