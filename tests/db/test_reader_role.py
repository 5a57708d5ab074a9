"""A role that may only read: what it can, what it cannot, and who may make it. On a real server."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from advisor.cli import run
from db.errors import UnreachableError
from db.harvest import harvest
from db.ingest import ingest
from db.migrate import downgrade, upgrade
from db.reader_role import OBJECTS, RoleRefusedError, make_reader, require_name
from db.session import open_engine, reading
from tests.db import run_records
from tests.db.postgres import PostgresServer

ON_POSTGRESQL = pytest.mark.parametrize("shipped_url", ["postgresql"], indirect=True)
NAME = "advisor_reader"
REFUSED = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)
ASK = ["recommend", "--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h"]


@pytest.fixture
def roles(postgres_server: PostgresServer, shipped_url: str) -> Iterator[None]:
    """Roles belong to the whole server: those of the test go with its database."""
    yield
    for name in (NAME, "owner_of_it", "nobody_special"):
        with psycopg.connect(shipped_url, autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone():
                role = sql.Identifier(name)
                owner = sql.SQL("REASSIGN OWNED BY {} TO postgres").format(role)
                connection.execute(owner)
                connection.execute(sql.SQL("DROP OWNED BY {}").format(role))
                connection.execute(sql.SQL("DROP ROLE {}").format(role))


def as_role(url: str, name: str) -> str:
    return url.replace("//postgres@", f"//{name}@")


@pytest.fixture
def reader_url(shipped_url: str, roles: None) -> str:
    """The shipped data, as the reader sees it."""
    engine = open_engine(shipped_url)
    made = make_reader(engine, NAME)
    engine.dispose()
    assert made.was_made
    assert made.can_still == ()
    assert made.url == as_role(shipped_url, NAME)
    return made.url


@ON_POSTGRESQL
def test_it_reads_all_that_is_ours(reader_url: str) -> None:
    with psycopg.connect(reader_url) as connection:
        for name in OBJECTS:
            connection.execute(sql.SQL("SELECT * FROM {} LIMIT 1").format(sql.Identifier(name)))


WRITES = (
    "INSERT INTO sources (source_id, citation) VALUES ('x', 'y')",
    "UPDATE clusters SET description = 'mine'",
    "DELETE FROM recommendation_points",
    "TRUNCATE recommendation_points",
    "SELECT 1 FROM campaign_plans FOR UPDATE",
    "CREATE TABLE mine (a INTEGER)",
    "CREATE TEMPORARY TABLE mine (a INTEGER)",
    "CREATE VIEW mine AS SELECT 1",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION mine() RETURNS INTEGER LANGUAGE SQL AS 'SELECT 1'",
    "CREATE ROLE mine",
    "ALTER TABLE runs ADD COLUMN mine TEXT",
    "DROP VIEW evidence_view",
    "SELECT lo_create(0)",
    "SELECT lo_creat(-1)",
    "SELECT lo_from_bytea(0, 'mine')",
    "SELECT lo_import('/etc/hostname')",
    "COPY runs TO PROGRAM 'cat'",
    "SELECT pg_read_file('/etc/hostname')",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres'",
)


@ON_POSTGRESQL
@pytest.mark.parametrize("says_otherwise", [False, True], ids=["as it comes", "after SET"])
def test_it_writes_nothing(reader_url: str, shipped_url: str, says_otherwise: bool) -> None:
    """Nor does it where the session says that its transactions may write."""
    with (
        psycopg.connect(shipped_url),  # somebody whom it could end
        psycopg.connect(reader_url, autocommit=True) as connection,
    ):
        if says_otherwise:
            connection.execute("SET default_transaction_read_only = off")
        for statement in WRITES:
            with pytest.raises(REFUSED):
                connection.execute(statement.encode())


@ON_POSTGRESQL
def test_its_sessions_only_read_and_end_soon(reader_url: str) -> None:
    with psycopg.connect(reader_url) as connection:
        for setting, value in (
            ("default_transaction_read_only", "on"),
            ("statement_timeout", "1min"),
            ("idle_in_transaction_session_timeout", "10min"),
        ):
            found = connection.execute(sql.SQL("SHOW {}").format(sql.Identifier(setting)))
            assert found.fetchone() == (value,)


@ON_POSTGRESQL
def test_after_an_upgrade_it_reads_what_is_new(reader_url: str, shipped_url: str) -> None:
    """Tables and views that were made again, or were not there before."""
    downgrade(shipped_url, "0003")
    upgrade(shipped_url)
    with psycopg.connect(shipped_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE later (a INTEGER)")
    with psycopg.connect(reader_url) as connection:
        for name in (*OBJECTS, "later"):
            connection.execute(sql.SQL("SELECT * FROM {} LIMIT 1").format(sql.Identifier(name)))


@ON_POSTGRESQL
def test_again_it_is_brought_up_to_date(reader_url: str, shipped_url: str) -> None:
    with psycopg.connect(shipped_url, autocommit=True) as connection:
        connection.execute(f"REVOKE SELECT ON runs FROM {NAME}".encode())
    engine = open_engine(shipped_url)
    made = make_reader(engine, NAME, statement_timeout_s=5.0)
    engine.dispose()
    assert not made.was_made
    with psycopg.connect(reader_url) as connection:
        connection.execute("SELECT * FROM runs")
        assert connection.execute("SHOW statement_timeout").fetchone() == ("5s",)


@ON_POSTGRESQL
@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("CREATE ROLE advisor_reader SUPERUSER", "it is a superuser"),
        ("CREATE ROLE advisor_reader CREATEDB", "may make roles or databases"),
        ("CREATE ROLE advisor_reader IN ROLE pg_monitor", "it is a member of another role"),
        (
            "CREATE ROLE advisor_reader; GRANT DELETE ON runs TO advisor_reader",
            "it may write to runs",
        ),
        (
            "CREATE ROLE advisor_reader; GRANT ALL ON SCHEMA public TO advisor_reader; "
            "SET ROLE advisor_reader; CREATE TABLE its_own (a INTEGER); RESET ROLE",
            "it owns table its_own",
        ),
        ("GRANT INSERT ON runs TO PUBLIC", "it may write to runs"),
        (
            "CREATE ROLE advisor_reader; GRANT UPDATE (note) ON operating_points TO advisor_reader",
            "it may write to operating_points",
        ),
        ("GRANT INSERT (note) ON operating_points TO PUBLIC", "it may write to operating_points"),
        (
            "CREATE ROLE advisor_reader; CREATE SCHEMA its_own AUTHORIZATION advisor_reader",
            "it owns schema its_own",
        ),
        (
            "CREATE ROLE advisor_reader; "
            "CREATE FUNCTION its_own() RETURNS INTEGER LANGUAGE SQL AS 'SELECT 1'; "
            "ALTER FUNCTION its_own() OWNER TO advisor_reader",
            "it owns function its_own",
        ),
        (
            "CREATE ROLE advisor_reader; DO $$ BEGIN EXECUTE "
            "format('ALTER DATABASE %I OWNER TO advisor_reader', current_database()); END $$",
            "it owns database test_",
        ),
        (
            "CREATE ROLE advisor_reader; GRANT CREATE ON SCHEMA public TO advisor_reader",
            "it was given the right to make tables in the schema public",
        ),
    ],
)
def test_a_role_that_can_more_is_left_alone(
    shipped_url: str, roles: None, before: str, reason: str
) -> None:
    with psycopg.connect(shipped_url, autocommit=True) as connection:
        connection.execute(before.encode())
    engine = open_engine(shipped_url)
    with pytest.raises(RoleRefusedError, match=reason) as caught:
        make_reader(engine, NAME)
    engine.dispose()
    assert "\n" not in str(caught.value)
    with psycopg.connect(shipped_url) as connection:
        settings = "SELECT rolconfig FROM pg_roles WHERE rolname = %s"
        assert connection.execute(settings, (NAME,)).fetchone() in (None, (None,))


@ON_POSTGRESQL
def test_nobody_restricts_the_role_that_asks(shipped_url: str, roles: None) -> None:
    engine = open_engine(shipped_url)
    with pytest.raises(RoleRefusedError, match="it is the role that asks"):
        make_reader(engine, "postgres")
    engine.dispose()


def owned_by(url: str, name: str, more: str) -> str:
    """The database with all that is in it, as that role's; its URL for it."""
    database = sql.Identifier(url.rpartition("/")[2])
    role = sql.Identifier(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN {more}".encode())
        connection.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(database, role))
        for each in OBJECTS:
            change = sql.SQL("ALTER TABLE {} OWNER TO {}").format(sql.Identifier(each), role)
            connection.execute(change)
    return as_role(url, name)


@ON_POSTGRESQL
def test_an_owner_who_is_no_superuser_can_make_it(shipped_url: str, roles: None) -> None:
    """As far as that goes: whose functions make large objects, only a superuser can say."""
    url = owned_by(shipped_url, "owner_of_it", "CREATEROLE")
    engine = open_engine(url)
    assert make_reader(engine, NAME).can_still == ("make large objects",)
    engine.dispose()
    with psycopg.connect(as_role(shipped_url, NAME), autocommit=True) as connection:
        connection.execute("SELECT * FROM runs")
        connection.execute("SET default_transaction_read_only = off")
        for statement in ("DELETE FROM runs", "CREATE TEMPORARY TABLE mine (a INTEGER)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())
    # The owner goes on as before, temporary tables included.
    assert run(["db", "check", "--db", url]) == 0


@ON_POSTGRESQL
def test_who_may_not_make_roles_is_told_who_may(shipped_url: str, roles: None) -> None:
    url = owned_by(shipped_url, "nobody_special", "")
    engine = open_engine(url)
    with pytest.raises(UnreachableError) as caught:
        make_reader(engine, NAME)
    engine.dispose()
    assert "permission denied to create role" in str(caught.value)
    assert f"`advisor db reader {NAME} --print`" in str(caught.value)
    assert "\n" not in str(caught.value)


@ON_POSTGRESQL
def test_public_can_be_left_alone(shipped_url: str, roles: None) -> None:
    engine = open_engine(shipped_url)
    made = make_reader(engine, NAME, keep_public=True)
    engine.dispose()
    assert made.can_still == ("make temporary tables", "make large objects")


@pytest.mark.parametrize("name", ["", "1st", "pg_me", "public", "a b", 'a"b', "x" * 64, "ä"])
def test_what_can_be_no_role(name: str) -> None:
    with pytest.raises(RoleRefusedError, match="such as advisor_reader"):
        require_name(name)


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(list(arguments))
    return code, *capsys.readouterr()


@ON_POSTGRESQL
def test_the_command_makes_it(
    shipped_url: str,
    roles: None,
    postgres_server: PostgresServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its password is neither on the screen nor in the server's log of statements."""
    with psycopg.connect(shipped_url, autocommit=True) as connection:
        database = sql.Identifier(shipped_url.rpartition("/")[2])
        connection.execute(sql.SQL("ALTER DATABASE {} SET log_statement = 'all'").format(database))
    monkeypatch.setenv("READER_PASSWORD", "s3cret-of-the-reader")
    command = ["db", "reader", NAME, "--password-env", "READER_PASSWORD", "--db", shipped_url]
    assert called(capsys, *command) == (
        0,
        f"{NAME}: made, may only read; {as_role(shipped_url, NAME)}\n",
        "",
    )
    code, out, _ = called(capsys, *command)
    assert (code, out.split(",")[0]) == (0, f"{NAME}: brought up to date")
    assert f'CREATE ROLE "{NAME}" LOGIN PASSWORD \'SCRAM-SHA-256$' in postgres_server.log
    assert f'ALTER ROLE "{NAME}" PASSWORD \'SCRAM-SHA-256$' in postgres_server.log
    assert "s3cret" not in postgres_server.log


@ON_POSTGRESQL
def test_what_the_command_refuses(
    shipped_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOTHING", raising=False)
    for options, says in (
        ([], "--password-env VAR names the variable"),
        (["--password-env", "NOTHING"], "$NOTHING is empty"),
        (["--password-env", "HOME", "--no-password"], "contradict each other"),
        *(
            (["--no-password", "--time-limit", limit], "from 1ms to 24d, such as 60s")
            for limit in ("0s", "0.4ms", "30d")
        ),
    ):
        code, out, err = called(capsys, "db", "reader", NAME, *options, "--db", shipped_url)
        assert (code, out) == (2, "")
        assert says in err
        assert err.count("\n") == 1


def test_a_sqlite_file_knows_no_roles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "advisor.db"
    code, _, err = called(capsys, "db", "reader", NAME, "--no-password", "--db", str(path))
    assert code == 2
    assert "is a SQLite file, which knows no roles" in err
    assert "chmod go-w" in err
    assert err.count("\n") == 1
    assert not path.exists()


@ON_POSTGRESQL
def test_an_administrator_can_do_it_by_hand(
    shipped_url: str,
    roles: None,
    postgres_server: PostgresServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The printed script runs in psql, but for the line that asks for the password."""
    code, printed, _ = called(capsys, "db", "reader", NAME, "--print", "--db", shipped_url)
    assert code == 0
    *lines, last = printed.splitlines()
    assert last == f'\\password "{NAME}"'
    psql = [str(postgres_server.binaries / "psql"), "--set", "ON_ERROR_STOP=1"]
    subprocess.run(
        [*psql, "--dbname", shipped_url],
        input="\n".join(lines),
        text=True,
        check=True,
        capture_output=True,
    )
    with psycopg.connect(as_role(shipped_url, NAME), autocommit=True) as connection:
        connection.execute("SELECT * FROM runs")
        connection.execute("SET default_transaction_read_only = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT lo_create(0)")


@ON_POSTGRESQL
def test_no_script_is_printed_that_would_restrict_another_kind_of_role(
    shipped_url: str, roles: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with psycopg.connect(shipped_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {NAME} LOGIN CREATEDB".encode())
    for name, reason in ((NAME, "may make roles or databases"), ("postgres", "the role that asks")):
        code, out, err = called(capsys, "db", "reader", name, "--print", "--db", shipped_url)
        assert (code, out) == (2, "")
        assert reason in err
        assert err.count("\n") == 1


@ON_POSTGRESQL
def test_a_role_without_a_password_is_printed_without_one(
    shipped_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["db", "reader", NAME, "--print", "--no-password", "--db", shipped_url]
    code, out, _ = called(capsys, *command)
    assert (code, "CREATE ROLE" in out, "password" in out) == (0, True, False)


@ON_POSTGRESQL
def test_it_cannot_hold_up_whoever_writes(
    reader_url: str, shipped_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Advisory locks it can take as any role can; nobody waits for them."""
    monkeypatch.setattr("db.session.WRITE_PATIENCE_S", 0.1)
    run_records.write(tmp_path, run_records.record())
    url = f"{shipped_url}?options=-c%20lock_timeout%3D5s"
    with psycopg.connect(reader_url) as idle:
        idle.execute("SET TRANSACTION READ WRITE")
        idle.execute("SELECT pg_advisory_lock(4671206), pg_advisory_lock(4671207)")
        for table in ("operating_points", "alembic_version"):
            for mode in ("ROW SHARE", "SHARE ROW EXCLUSIVE", "ACCESS EXCLUSIVE"):
                with pytest.raises(REFUSED), idle.transaction():
                    idle.execute(f"LOCK TABLE {table} IN {mode} MODE".encode())
        engine = open_engine(url)
        assert len(ingest(engine, tmp_path).new) == 1
        assert harvest(engine, "mybox").added == 1
        engine.dispose()
        downgrade(url, "0009")
        upgrade(url)


@ON_POSTGRESQL
def test_what_reads_works_and_what_writes_is_one_line(
    reader_url: str, shipped_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [called(capsys, *ASK, "--db", url) for url in (reader_url, shipped_url)]
    assert answers[0] == answers[1]
    for command in (
        ["sql", "SELECT COUNT(*) FROM operating_point_view"],
        ["clusters"],
        ["campaigns"],
        ["coverage"],
        ["db", "upgrade"],  # nothing to do
        ["db", "export", "--cluster", "matilda-8xv100", "--output", str(tmp_path / "b.json")],
    ):
        code, _, err = called(capsys, *command, "--db", reader_url)
        assert (code, err) == (0, "")
    code, out, _ = called(capsys, "db", "status", "--db", reader_url)
    assert code == 0
    assert f"role {NAME}" in out
    assert "may only be read" in out
    assert "may be written" in called(capsys, "db", "status", "--db", shipped_url)[1]
    run_records.write(tmp_path / "runs", run_records.record())
    for command in (
        [*ASK, "--save"],
        ["ingest", str(tmp_path / "runs")],
        ["measure", "--architecture", "a2", "--trace", "none", "--cluster", "x"],
        ["db", "check"],
        ["db", "downgrade", "--to", "base"],
        ["db", "reader", "another", "--no-password"],
    ):
        code, _, err = called(capsys, *command, "--db", reader_url)
        assert code == 2, command
        assert err.count("\n") == 1, err
        assert "may only be read" in err or "name a role that may" in err


@ON_POSTGRESQL
def test_the_pages_of_the_app_read(reader_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the app asks, but for its drawing: the token by which it sees that something changed."""
    from db.queries import change_token, cluster_evidence
    from db.run_queries import list_runs, run_choices

    engine = open_engine(reader_url)
    with reading(engine) as connection:
        assert change_token(connection)
        assert cluster_evidence(connection, "matilda-8xv100").points
        list_runs(connection)
        run_choices(connection, "matilda-8xv100")
    engine.dispose()


def test_it_logs_in_with_its_password(
    own_postgres: PostgresServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = own_postgres.create_database()
    upgrade(url)
    rules = own_postgres.folder / "data" / "pg_hba.conf"
    rule = f"host all {NAME} 127.0.0.1/32 scram-sha-256\n"
    rules.write_text(rule + rules.read_text())
    own_postgres.execute("SELECT pg_reload_conf()")
    for password in ("first-one", "another-ä"):
        monkeypatch.setenv("READER_PASSWORD", password)
        command = ["db", "reader", NAME, "--password-env", "READER_PASSWORD", "--db", url]
        assert called(capsys, *command)[0] == 0
        count = ["sql", "SELECT COUNT(*) AS n FROM runs", "--format", "csv"]
        monkeypatch.setenv("PGPASSWORD", password)
        assert called(capsys, *count, "--db", as_role(url, NAME)) == (0, "n\n0\n", "")
        monkeypatch.setenv("PGPASSWORD", "wrong")
        code, _, err = called(capsys, *count, "--db", as_role(url, NAME))
        assert code == 2
        assert "password authentication failed" in err
        assert err.count("\n") == 1
        monkeypatch.delenv("PGPASSWORD")
