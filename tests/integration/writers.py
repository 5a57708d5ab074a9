"""Processes that ingest the runs of one folder each, record by record; and who disturbs them."""

import random
import threading
import time
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path

import psycopg

from db.ingest import ingest_file, records_below
from db.schema import check_schema
from db.session import open_engine
from tests.db import run_records
from tests.db.postgres import PostgresServer
from tests.fork_server import fork_server

_KILL = """
SELECT pid FROM pg_stat_activity
WHERE application_name = 'failbench-advisor' AND datname = %s
ORDER BY pid
"""
_PAUSE_S = (0.005, 0.05)


def write_records(folder: Path, writers: int, runs: int) -> list[dict[str, object]]:
    """The records of each writer in a folder of its own; of three architectures and a campaign."""
    made = []
    for writer in range(writers):
        for number in range(runs):
            seed = writer * runs + number
            architecture = ("a2", "a4", "a7")[seed % 3]
            record = run_records.record(architecture, seed=seed % 40, rate=40.0 + seed / 7.0)
            record["run_id"] = f"{run_records.CAMPAIGN}/{architecture}-{seed}"
            record["cell"]["seed"] = seed
            made.append(record)
            run_records.write(folder / str(writer), record)
    return made


def ingest_each(url: str, folder: Path, all_there: Barrier) -> None:
    """Each record in a transaction of its own, as controllers of campaigns do it."""
    engine = open_engine(url)
    check_schema(engine)
    all_there.wait(60.0)
    for path in records_below(folder, []):
        ingest_file(engine, path)
    engine.dispose()


def started(url: str, folder: Path, writers: int) -> list[BaseProcess]:
    context = fork_server()
    all_there = context.Barrier(writers + 1)
    processes: list[BaseProcess] = [
        context.Process(target=ingest_each, args=(url, folder / str(writer), all_there))
        for writer in range(writers)
    ]
    for process in processes:
        process.start()
    all_there.wait(60.0)
    return processes


def exit_codes(processes: Sequence[BaseProcess], within_s: float) -> list[int | None]:
    deadline = time.monotonic() + within_s
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    return [process.exitcode for process in processes]


class Killer(threading.Thread):
    """Ends the database's sessions at random, one by one, until `stop`; `killed` counts them."""

    def __init__(self, server: PostgresServer, database: str, seed: int) -> None:
        super().__init__(daemon=True)
        self.killed = 0
        self._server, self._database = server, database
        self._random = random.Random(seed)
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(self._random.uniform(*_PAUSE_S)):
            try:
                self._kill_one()
            except psycopg.OperationalError:
                continue  # the server is down

    def stop(self) -> None:
        self._over.set()
        self.join(30.0)

    def _kill_one(self) -> None:
        with psycopg.connect(self._server.url("postgres"), autocommit=True) as connection:
            pids = [pid for (pid,) in connection.execute(_KILL, (self._database,)).fetchall()]
            if pids:
                victim = self._random.choice(pids)
                found = connection.execute("SELECT pg_terminate_backend(%s)", (victim,))
                self.killed += int(found.fetchone() == (True,))
