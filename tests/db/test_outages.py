"""Dropped connections, restarts, deadlocks, answers that are lost: nothing is lost, and nothing is
there twice. Against a real server."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError, OperationalError

from db import campaign_store, session, validation_store
from db.calibration_record import read_calibration
from db.errors import UnreachableError
from db.failure_store import store_failure_estimate
from db.harvest import harvest
from db.ingest import ingest
from db.migrate import upgrade
from db.models import Base
from db.outages import is_outage
from db.recommendation_store import save_recommendation
from db.records import CampaignStatus, CellStatus
from db.session import open_engine, read, reading, write, writing
from tests.db import calibration_records, run_records
from tests.db.good_rows import GOOD
from tests.db.lossy_proxy import LossyProxy
from tests.db.postgres import PostgresServer
from tests.db.test_calibration_store import stored as store_calibrated
from tests.db.test_campaign_store import CAMPAIGN, ME, OTHER, plan, status, statuses

ON_POSTGRESQL = pytest.mark.parametrize("shipped_url", ["postgresql"], indirect=True)

COUNT = "SELECT count FROM published_counts WHERE name = 'tries'"
ADD = """
INSERT INTO published_counts (name, count, source_id)
SELECT 'tries', 1, MIN(source_id) FROM sources
"""


@pytest.fixture
def engine(shipped_url: str) -> Iterator[Engine]:
    made = open_engine(shipped_url)
    yield made
    made.dispose()


@pytest.fixture
def proxy(postgres_server: PostgresServer) -> Iterator[LossyProxy]:
    made = LossyProxy(postgres_server.port)
    yield made
    made.close()


@pytest.fixture
def lossy(shipped_url: str, proxy: LossyProxy) -> Iterator[Engine]:
    """The same database, over the proxy."""
    database = shipped_url.rpartition("/")[2]
    made = open_engine(f"postgresql://postgres@127.0.0.1:{proxy.port}/{database}")
    yield made
    made.dispose()


def scalars(engine: Engine, statement: str) -> list[Any]:
    with reading(engine) as connection:
        return list(connection.exec_driver_sql(statement).scalars())


def pid_of(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())


@ON_POSTGRESQL
def test_a_connection_that_is_dropped_in_a_transaction(
    engine: Engine, postgres_server: PostgresServer
) -> None:
    pids = []

    def change(connection: Connection) -> str:
        pids.append(pid_of(connection))
        connection.exec_driver_sql(ADD)
        if len(pids) < 3:
            postgres_server.execute(f"SELECT pg_terminate_backend({pids[-1]}, 10000)")
        connection.exec_driver_sql("SELECT 1")
        return "done"

    assert write(engine, change) == "done"
    assert len(set(pids)) == 3
    assert scalars(engine, COUNT) == [1]


@ON_POSTGRESQL
def test_a_connection_that_was_dropped_while_idle(
    engine: Engine, postgres_server: PostgresServer
) -> None:
    """By the server's own time limit for idle sessions, which the pool does not know."""
    with reading(engine) as connection:
        before = pid_of(connection)
    postgres_server.execute(f"SELECT pg_terminate_backend({before}, 10000)")
    with reading(engine) as connection:
        assert pid_of(connection) != before
    with writing(engine) as connection:
        connection.exec_driver_sql(ADD)
        idle = pid_of(connection)
    postgres_server.execute(f"SELECT pg_terminate_backend({idle}, 10000)")
    assert scalars(engine, COUNT) == [1]


@ON_POSTGRESQL
def test_two_that_stand_in_each_others_way(engine: Engine) -> None:
    """A real deadlock: PostgreSQL ends one of the two, which begins again."""
    with writing(engine) as connection:
        for name in ("a", "b"):
            connection.exec_driver_sql(ADD.replace("'tries', 1", f"'{name}', 0"))
    both = threading.Barrier(2)
    tries: list[str] = []

    def in_order(names: str) -> None:
        def change(connection: Connection) -> None:
            is_first = sum(each == names for each in tries) == 0
            tries.append(names)
            for name in names:
                connection.exec_driver_sql(
                    f"UPDATE published_counts SET count = count + 1 WHERE name = '{name}'"
                )
                if is_first and name == names[0]:
                    both.wait(30.0)

        write(engine, change)

    threads = [threading.Thread(target=in_order, args=(names,)) for names in ("ab", "ba")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert len(tries) == 3
    counts = "SELECT count FROM published_counts WHERE name IN ('a', 'b')"
    assert scalars(engine, counts) == [2, 2]


@ON_POSTGRESQL
def test_what_is_wrong_is_not_tried_again(engine: Engine) -> None:
    tries: list[int] = []

    def change(connection: Connection) -> None:
        tries.append(pid_of(connection))
        connection.exec_driver_sql("INSERT INTO architectures (architecture) VALUES ('a2')")

    with pytest.raises(IntegrityError):
        write(engine, change)
    assert len(tries) == 1


@ON_POSTGRESQL
def test_ingest_and_harvest(
    engine: Engine, lossy: Engine, proxy: LossyProxy, tmp_path: Path
) -> None:
    made = [run_records.record(seed=seed) for seed in range(3)]
    run_records.write(tmp_path, *made)
    proxy.lose_next_commit()
    report = ingest(lossy, tmp_path)
    assert proxy.lost == 1
    assert {*report.new, *report.known} == {each["run_id"] for each in made}
    assert report.refused == ()
    assert scalars(engine, "SELECT COUNT(*) FROM runs") == [3]
    assert scalars(engine, "SELECT COUNT(*) FROM run_records") == [3]
    proxy.lose_next_commit()
    assert harvest(lossy, "mybox").points == 1
    assert proxy.lost == 2
    assert scalars(engine, "SELECT COUNT(*) FROM runs WHERE point_id IS NOT NULL") == [3]


@ON_POSTGRESQL
def test_a_campaign(engine: Engine, lossy: Engine, proxy: LossyProxy) -> None:
    """Each of its changes of hands, once, though its commit was not answered."""

    def lost(act: Callable[[], Any]) -> Any:
        before = proxy.lost
        proxy.lose_next_commit()
        found = act()
        assert proxy.lost == before + 1
        return found

    taken = lost(lambda: campaign_store.store_plan(lossy, plan(3), ME))
    assert statuses(engine) == ["pending"] * 3
    cell = lost(lambda: campaign_store.claim(lossy, taken, ME))
    assert cell.ordinal == 1
    assert statuses(engine) == ["running", "pending", "pending"]
    assert scalars(engine, "SELECT attempts FROM campaign_cells ORDER BY ordinal") == [1, 0, 0]
    lost(lambda: campaign_store.beat(lossy, taken))
    assert lost(lambda: campaign_store.settle(lossy, taken, 1, CellStatus.COMPLETE)) is True
    assert campaign_store.settle(lossy, taken, 1, CellStatus.COMPLETE) is False
    more = [part.model_copy(update={"run_id": f"{part.run_id}9"}) for part in plan(2).cells]
    assert lost(lambda: campaign_store.add_cells(lossy, taken, more)) == 2
    assert statuses(engine) == ["complete", *["pending"] * 4]
    assert lost(lambda: campaign_store.let_go(lossy, taken)) is CampaignStatus.STALE
    assert status(engine) is CampaignStatus.STALE
    again_taken = lost(
        lambda: campaign_store.take_over(lossy, CAMPAIGN, OTHER, lambda controller: False)
    )
    assert again_taken.term == 2
    assert scalars(engine, "SELECT term FROM campaign_plans") == [2]
    assert scalars(engine, "SELECT pid FROM campaign_plans") == [OTHER.pid]


@ON_POSTGRESQL
def test_what_is_saved(engine: Engine, lossy: Engine, proxy: LossyProxy, tmp_path: Path) -> None:
    with writing(engine) as connection:
        for name in ("sources", "clusters", "software_stacks", "architectures", "mechanisms"):
            connection.execute(Base.metadata.tables[name].insert(), GOOD[name])
    calibration = read_calibration(
        calibration_records.write(tmp_path, calibration_records.record())
    )

    estimate = {k: v for k, v in GOOD["failure_estimates"].items() if k != "created_at"}
    answer: dict[str, Any] = {"cluster": "tiny", "inputs": {}, "result": {}, "points": {"p": {}}}
    acts: dict[str, Callable[[], object]] = {
        "recommendations": lambda: save_recommendation(lossy, advisor_version="1", **answer),
        "failure_estimates": lambda: store_failure_estimate(lossy, estimate),
        "calibration_sessions": lambda: store_calibrated(lossy, calibration),
        "validations": lambda: validation_store.store_validation(
            lossy, GOOD["validations"], [GOOD["validation_runs"]]
        ),
    }

    def counted(table: str) -> int:
        return int(scalars(engine, f"SELECT COUNT(*) FROM {table}")[0])

    for number, (table, act) in enumerate(acts.items(), start=1):
        before = counted(table)
        proxy.lose_next_commit()
        act()
        assert proxy.lost == number

        assert counted(table) == before + 1
    assert scalars(engine, "SELECT COUNT(*) FROM recommendation_points") == [1]
    mine = "SELECT COUNT(*) FROM validation_runs WHERE validation = '20260131-aaaaaaaa'"
    assert scalars(engine, mine) == [1]


@pytest.fixture
def own_engine(own_postgres: PostgresServer) -> Iterator[Engine]:
    """A database on a server that the test may stop; it was reached once."""
    url = own_postgres.create_database()
    upgrade(url)
    made = open_engine(url)
    with writing(made) as connection:
        connection.execute(Base.metadata.tables["sources"].insert(), GOOD["sources"])
    yield made
    made.dispose()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_that_restarts_is_waited_for(
    own_postgres: PostgresServer, own_engine: Engine, mode: str
) -> None:
    tries: list[str] = []

    def change(connection: Connection) -> None:
        tries.append(mode)
        connection.exec_driver_sql(ADD)
        if len(tries) == 1:
            own_postgres.stop(mode)
            restart.start()
        connection.exec_driver_sql("SELECT 1")

    def start() -> None:
        time.sleep(0.5)
        own_postgres.start()

    restart = threading.Thread(target=start)
    write(own_engine, change)
    restart.join(60.0)
    assert len(tries) == 2  # while it was away, nothing was begun
    assert scalars(own_engine, COUNT) == [1]


def test_who_reads_waits_as_well(own_postgres: PostgresServer, own_engine: Engine) -> None:
    def start() -> None:
        time.sleep(0.5)
        own_postgres.start()

    for look in (
        lambda: scalars(own_engine, "SELECT 1"),
        lambda: read(
            own_engine, lambda connection: [connection.exec_driver_sql("SELECT 1").scalar()]
        ),
    ):
        own_postgres.stop("fast")
        restart = threading.Thread(target=start)
        restart.start()
        assert look() == [1]
        restart.join(60.0)


def test_a_server_that_stays_away_is_one_line_after_a_while(
    own_postgres: PostgresServer, own_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.session.WRITE_PATIENCE_S", 0.3)
    monkeypatch.setattr("db.session.READ_PATIENCE_S", 0.1)
    own_postgres.stop("fast")
    with pytest.raises(UnreachableError, match="refused") as caught:
        write(own_engine, lambda connection: connection.exec_driver_sql(ADD))
    assert "\n" not in str(caught.value)
    with pytest.raises(UnreachableError, match="refused"), reading(own_engine):
        pass


def test_an_address_that_nobody_ever_answered_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(seconds: float) -> None:
        raise AssertionError("it waited")

    monkeypatch.setattr("db.outages.time.sleep", never)
    engine = open_engine("postgresql://me@127.0.0.1:1/nowhere")
    with pytest.raises(UnreachableError, match="refused"):
        write(engine, lambda connection: connection.exec_driver_sql(ADD))
    engine.dispose()


def test_a_database_that_is_gone_is_not_waited_for(
    own_postgres: PostgresServer, own_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server answers, and says that there is no such database any more."""
    own_engine.dispose()
    own_postgres.drop_database(own_engine.url.render_as_string(hide_password=False))
    monkeypatch.setattr("db.outages.time.sleep", lambda seconds: pytest.fail("it waited"))
    with pytest.raises(UnreachableError, match="does not exist"):
        write(own_engine, lambda connection: connection.exec_driver_sql(ADD))


def test_a_server_without_a_place_left_is_waited_for(
    own_postgres: PostgresServer, own_engine: Engine
) -> None:
    """Even by a process that never reached it: it is there, and full."""
    own_engine.dispose()
    url = own_engine.url.update_query_dict({"application_name": "never-there-before"})
    taken = []
    with contextlib.suppress(psycopg.OperationalError):
        while True:
            taken.append(psycopg.connect(own_postgres.url("postgres")))

    def leave() -> None:
        while own_postgres.log.count("too many clients already") < 2:
            time.sleep(0.02)
        taken.pop().close()

    leaving = threading.Thread(target=leave, daemon=True)
    leaving.start()
    late = open_engine(url.render_as_string(hide_password=False))
    write(late, lambda connection: connection.exec_driver_sql(ADD))
    leaving.join(30.0)
    late.dispose()
    for each in taken:
        each.close()
    assert scalars(own_engine, COUNT) == [1]


_STARTS_IN_GERMAN = "Verbindung zum Server auf »127.0.0.1«: FATAL:  das Datenbanksystem startet"


@pytest.mark.parametrize(
    ("message", "was_reached", "passes"),
    [
        ("connection to server failed: Connection refused", True, True),
        ("connection to server failed: Connection refused", False, False),
        (_STARTS_IN_GERMAN, True, True),
        (_STARTS_IN_GERMAN, False, False),
        ("FATAL:  the database system is starting up", False, True),
        ("FATAL:  sorry, too many clients already", False, True),
        ("FATAL:  remaining connection slots are reserved for roles with", False, True),
        ('FATAL:  too many connections for role "me"', False, True),
        ('FATAL:  password authentication failed for user "me"', True, False),
        ('FATAL:  no pg_hba.conf entry for host "::1", user "me"', True, False),
        ('FATAL:  role "me" does not exist', True, False),
        ('FATAL:  role "me" is not permitted to log in', True, False),
        ('FATAL:  permission denied for database "d"', True, False),
    ],
)
def test_what_hinders_a_connection_passes_or_not(
    message: str, was_reached: bool, passes: bool
) -> None:
    """It has no SQLSTATE; what is not known to be final passes, of a database that was reached."""
    error = OperationalError(None, None, psycopg.OperationalError(message))
    assert is_outage(error, was_reached) is passes


SETTINGS = """
SELECT name, setting FROM pg_settings WHERE name IN (
  'tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count',
  'idle_in_transaction_session_timeout', 'lock_timeout')
"""


@ON_POSTGRESQL
def test_a_session_gives_up_what_it_holds_unless_somebody_says_otherwise(
    engine: Engine, shipped_url: str
) -> None:
    def settings(url: str) -> dict[str, str]:
        made = open_engine(url)
        with reading(made) as connection:
            rows = connection.exec_driver_sql(SETTINGS)
            found = {str(row[0]): str(row[1]) for row in rows}
        made.dispose()
        return found

    ours = {
        "tcp_keepalives_idle": "30",
        "tcp_keepalives_interval": "10",
        "tcp_keepalives_count": "3",
        "idle_in_transaction_session_timeout": "60000",
        "lock_timeout": "30000",
    }
    assert settings(shipped_url) == ours
    by_url = f"{shipped_url}?options=-c%20lock_timeout%3D1s"
    assert settings(by_url) == {**ours, "lock_timeout": "1000"}
    database = shipped_url.rpartition("/")[2]
    with psycopg.connect(shipped_url, autocommit=True) as connection:
        change = "ALTER DATABASE {} SET idle_in_transaction_session_timeout = '5min'"
        connection.execute(sql.SQL(change).format(sql.Identifier(database)))
    assert settings(by_url)["idle_in_transaction_session_timeout"] == "300000"


@ON_POSTGRESQL
def test_what_a_client_holds_that_is_stuck_is_free_after_a_while(
    engine: Engine, shipped_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(session._SESSION, "idle_in_transaction_session_timeout", "200ms")
    stuck = open_engine(shipped_url)

    def hold() -> None:
        with writing(stuck) as connection:
            connection.exec_driver_sql(ADD)
            write(engine, lambda other: other.exec_driver_sql(ADD.replace("1, MIN", "7, MIN")))
            connection.exec_driver_sql("SELECT 1")

    with pytest.raises(UnreachableError):
        hold()
    stuck.dispose()
    assert scalars(engine, COUNT) == [7]


@ON_POSTGRESQL
def test_a_lock_that_is_held_for_long_is_waited_for_again(
    engine: Engine, shipped_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(engine) as connection:
        connection.exec_driver_sql(ADD)
    monkeypatch.setitem(session._SESSION, "lock_timeout", "50ms")
    waiting = open_engine(shipped_url)
    tries: list[int] = []

    def change(connection: Connection) -> None:
        tries.append(pid_of(connection))
        connection.exec_driver_sql("UPDATE published_counts SET count = 2 WHERE name = 'tries'")

    with psycopg.connect(shipped_url) as holder:
        holder.execute("SELECT 1 FROM published_counts WHERE name = 'tries' FOR UPDATE")
        thread = threading.Thread(target=write, args=(waiting, change))
        thread.start()
        deadline = time.monotonic() + 30.0
        while len(tries) < 3:
            assert time.monotonic() < deadline, "it was not tried again"
            time.sleep(0.02)
    thread.join(30.0)
    waiting.dispose()
    assert scalars(engine, COUNT) == [2]


@ON_POSTGRESQL
def test_a_lock_that_is_never_released_is_one_line(
    shipped_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(session._SESSION, "lock_timeout", "20ms")
    monkeypatch.setattr("db.session.WRITE_PATIENCE_S", 0.1)
    waiting = open_engine(shipped_url)
    with psycopg.connect(shipped_url) as holder:
        holder.execute("LOCK TABLE published_counts")
        with pytest.raises(UnreachableError, match="another session holds what this") as caught:
            write(waiting, lambda connection: connection.exec_driver_sql(ADD))
    waiting.dispose()
    assert "\n" not in str(caught.value)
