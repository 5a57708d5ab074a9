"""A throwaway PostgreSQL server for the session, and one fresh database for each test.

A test that restarts its server has one of its own. Where no server is installed the tests that need
one are skipped, or fail with ADVISOR_REQUIRE_SERVICES=1, which CI sets.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

_USER = "postgres"
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "40",
    "listen_addresses": "127.0.0.1",
}


@dataclass
class PostgresServer:
    """A running server; every database that it makes is gone with it."""

    folder: Path
    port: int
    binaries: Path
    settings: Mapping[str, str]
    made: int = field(default=0)

    def url(self, database: str) -> str:
        """The URL of one of its databases."""
        return f"postgresql://{_USER}@127.0.0.1:{self.port}/{database}"

    def create_database(self, template: str = "template0") -> str:
        """Makes a database, as a copy of the template, and returns its URL."""
        self.made += 1
        name = f"test_{self.made}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Drops it, with whoever is still connected."""
        self.execute(f"DROP DATABASE IF EXISTS {url.rpartition('/')[2]} WITH (FORCE)")

    def execute(self, statement: str) -> None:
        """Runs one statement as the superuser, outside a transaction."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    @property
    def log(self) -> str:
        """All that the server wrote."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        options = " ".join(f"-c {name}={value}" for name, value in self.settings.items())
        self._control("start", "--wait", "--log", str(self.folder / "log"), "--options", options)

    def stop(self, mode: str) -> None:
        """`fast` ends every session in order; `immediate` is a crash."""
        self._control("stop", "--wait", "--mode", mode)

    def _control(self, action: str, *options: str) -> None:
        data = ["--pgdata", str(self.folder / "data")]
        _run([str(self.binaries / "pg_ctl"), action, *data, *options], self.folder)


def _binaries() -> Path | None:
    """The newest installed server; Debian keeps it off the PATH."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    )
    on_path = shutil.which("initdb")
    candidates = [*([Path(on_path).resolve()] if on_path else []), *found]
    return candidates[-1].parent if candidates else None


def _unavailable(reason: str) -> None:
    if os.environ.get("ADVISOR_REQUIRE_SERVICES") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _as_server_user(command: list[str]) -> list[str]:
    """The server refuses to run as root."""
    return ["runuser", "-u", _USER, "--", *command] if os.geteuid() == 0 else command


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(
        _as_server_user(command), check=True, capture_output=True, cwd=folder, timeout=60
    )


def _user_exists() -> bool:
    return any(entry.pw_name == _USER for entry in pwd.getpwall())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The server, started at first use and gone, process and files, at the end."""
    with _server({}) as server:
        yield server


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server of the test's own, to be stopped and started; what was committed survives a crash of
    the server, though not one of the machine."""
    with _server({"synchronous_commit": "on"}) as server:
        yield server


@pytest.fixture(scope="session")
def german_postgres() -> Iterator[PostgresServer]:
    """One that speaks German."""
    spoken = list(Path("/usr/share/locale/de").glob("LC_MESSAGES/postgres-*.mo"))
    if not spoken:
        pytest.skip("PostgreSQL's translations are not installed")
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("LANGUAGE", "de")
            server = stack.enter_context(_server({}))
        yield server


@contextmanager
def _server(settings: Mapping[str, str]) -> Iterator[PostgresServer]:
    binaries = _binaries()
    if binaries is None or (os.geteuid() == 0 and not _user_exists()):
        _unavailable("no PostgreSQL server is installed (apt-get install postgresql)")
    assert binaries is not None
    folder = Path(tempfile.mkdtemp(prefix="advisor-pg-"))
    if os.geteuid() == 0:
        os.chown(folder, pwd.getpwnam(_USER).pw_uid, -1)
    try:
        yield _started(binaries, folder, settings)
    finally:
        _gone_for_good(binaries, folder)


def _started(binaries: Path, folder: Path, settings: Mapping[str, str]) -> PostgresServer:
    port = _free_port()
    _run(
        [
            *(str(binaries / "initdb"), "--pgdata", str(folder / "data"), "--no-sync"),
            *("--auth", "trust", "--username", _USER, "--encoding", "UTF8", "--locale", "C.UTF-8"),
            # Sorts a hyphen otherwise than SQLite does, as most people's servers do.
            *("--locale-provider", "icu", "--icu-locale", "en"),
        ],
        folder,
    )
    place = {"port": str(port), "unix_socket_directories": str(folder)}
    server = PostgresServer(folder, port, binaries, {**_SETTINGS, **settings, **place})
    server.start()
    return server


def _gone_for_good(binaries: Path, folder: Path) -> None:
    pid_file = folder / "data" / "postmaster.pid"
    pid = int(pid_file.read_text().split()[0]) if pid_file.exists() else None
    if pid is not None:
        stop = [str(binaries / "pg_ctl"), "stop", "--mode", "immediate"]
        _run([*stop, "--pgdata", str(folder / "data")], folder)
    shutil.rmtree(folder)
    assert pid is None or _gone(pid), f"server {pid} is still there"


def _gone(pid: int, within_s: float = 10.0) -> bool:
    """Whether the process ends in time; a zombie that init has yet to reap has ended."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        stat = Path(f"/proc/{pid}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False
