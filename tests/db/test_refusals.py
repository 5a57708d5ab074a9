"""A server that lets nobody in, in a language that is not ours: whether it is waited for goes by
its code. Against a real server that speaks German."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from sqlalchemy import Engine

from db.errors import UnreachableError
from db.refusals import refusal_state
from db.session import open_engine, read
from tests.db.postgres import PostgresServer

HBA = "host all locked 127.0.0.1/32 scram-sha-256\n"


@pytest.fixture
def engine(german_postgres: PostgresServer) -> Iterator[Engine]:
    """As a role that needs its password, to a database of its own; it was reached once."""
    url = german_postgres.create_database()
    with contextlib.suppress(psycopg.errors.DuplicateObject):
        german_postgres.execute("CREATE ROLE locked")
    german_postgres.execute("ALTER ROLE locked LOGIN PASSWORD 'right'")
    hba = german_postgres.folder / "data" / "pg_hba.conf"
    if not hba.read_text().startswith(HBA):
        hba.write_text(HBA + hba.read_text())
        german_postgres.execute("SELECT pg_reload_conf()")
    made = open_engine(url.replace("postgres@", "locked:right@"))
    assert look(made) == 1
    made.dispose()
    yield made
    made.dispose()


def look(engine: Engine) -> int:
    return int(read(engine, lambda connection: connection.exec_driver_sql("SELECT 1").scalar_one()))


def drop(server: PostgresServer, engine: Engine) -> None:
    server.drop_database(engine.url.render_as_string(hide_password=False))


def change_password(server: PostgresServer, engine: Engine) -> None:
    server.execute("ALTER ROLE locked PASSWORD 'another'")


def forbid(server: PostgresServer, engine: Engine) -> None:
    server.execute("ALTER ROLE locked NOLOGIN")


@pytest.mark.parametrize(
    ("change", "state", "words"),
    [
        (drop, "3D000", "existiert nicht"),
        (change_password, "28P01", "Passwort-Authentifizierung"),
        (forbid, "28000", "Einloggen"),
    ],
)
def test_what_will_not_pass_is_not_waited_for(
    german_postgres: PostgresServer,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[PostgresServer, Engine], None],
    state: str,
    words: str,
) -> None:
    change(german_postgres, engine)
    assert refusal_state(engine) == state
    monkeypatch.setattr("db.outages.time.sleep", lambda seconds: pytest.fail("it waited"))
    with pytest.raises(UnreachableError, match=words) as caught:
        look(engine)
    assert "\n" not in str(caught.value)


def test_a_full_server_is_waited_for(german_postgres: PostgresServer, engine: Engine) -> None:
    """Even by a process that never reached it."""
    url = engine.url.update_query_dict({"application_name": "never-there-before"})
    late, taken = open_engine(url.render_as_string(hide_password=False)), []
    with contextlib.suppress(psycopg.OperationalError):
        while True:
            taken.append(psycopg.connect(german_postgres.url("postgres")))
    assert refusal_state(late) == "53300"
    before = german_postgres.log.count("FATAL:")

    def leave() -> None:
        while german_postgres.log.count("FATAL:") < before + 2:
            time.sleep(0.02)
        for each in taken:
            each.close()

    leaving = threading.Thread(target=leave, daemon=True)
    leaving.start()
    assert look(late) == 1
    leaving.join(30.0)
    late.dispose()


def test_who_is_let_in_or_finds_nobody_is_told_nothing(engine: Engine) -> None:
    assert refusal_state(engine) is None
    nobody = open_engine("postgresql://me@127.0.0.1:1/nowhere")
    assert refusal_state(nobody) is None
    nobody.dispose()
