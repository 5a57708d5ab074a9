"""What is kept of an incident: the folder `incidents/0/` of its run.

The last lines of every process's log, who was where (`topology.json`), what each rank's state
proves (`states.json`), the suspects' states as shards; and `manifest.json`, written last, with
the size and the SHA-256 of each of these files. Without its manifest the evidence is not whole.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure.interfaces.monitor import Suspicion
from measure.state import durable
from measure.state.errors import StateError
from measure.supervisor.observed import NodeView, RankView
from measure.supervisor.suspicion import Decision

FOLDER = "incidents"
MANIFEST = "manifest.json"
SCHEMA, VERSION = "failbench-incident", 1
_LAST_BYTES = 65_536
"""So much of each log is kept, from its end, in whole lines."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What one process added (measure.rank.evidence)."""

    slot: int
    step: int
    whole: bool
    digests: Mapping[str, str]
    proof: Mapping[str, str]
    file: str
    """Its state; empty where that was not asked for, or could not be kept."""
    bytes: int
    sha256: str
    why: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What the manifest says beside the files."""

    incident: int
    run_id: str
    generation: int
    suspicions: Sequence[Suspicion]
    decision: Decision


def folder_of(run: Path, number: int) -> Path:
    """The folder of an incident."""
    return run / FOLDER / str(number)


def make_folder(run: Path, number: int) -> str:
    """Makes it; returns why that could not be, empty where it is there."""
    try:
        durable.make_folder(run / FOLDER)
        durable.make_folder(folder_of(run, number))
    except (OSError, StateError) as error:
        return _said(error)
    return ""


def write(
    run: Path,
    facts: Facts,
    ranks: Sequence[RankView],
    nodes: Sequence[NodeView],
    kept: Sequence[Kept],
    lacking: Sequence[str],
) -> str:
    """Writes all that the supervisor has, and the manifest; returns what could not be kept, in
    words, empty where everything was. `lacking` is what is known to be missing already.

    Never raises for a disk: without evidence a recovery goes on all the same. Where there is no
    manifest nothing else is left either.
    """
    folder = folder_of(run, facts.incident)
    files = [{"name": k.file, "bytes": k.bytes, "sha256": k.sha256} for k in kept if k.file]
    missing = [*lacking, *(f"rank {k.slot}'s state: {k.why}" for k in kept if k.why)]
    for name, content in _contents(run, ranks, nodes, kept):
        try:
            durable.write_file(folder / name, content)
        except (OSError, StateError) as error:
            missing.append(f"{name}: {_said(error)}")
        else:
            digest = hashlib.sha256(content).hexdigest()
            files.append({"name": name, "bytes": len(content), "sha256": digest})
    try:
        durable.write_file(folder / MANIFEST, _text(_manifest(facts, files, missing)))
        durable.flush_folder(run / FOLDER)
    except (OSError, StateError) as error:
        missing.append(f"{MANIFEST}: {_said(error)}")
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            (run / FOLDER).rmdir()  # unless there are others
    return "; ".join(missing)


def problems(folder: Path) -> list[str]:
    """What is wrong with the evidence in a folder, in words; empty where it is whole."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [f"{MANIFEST}: {_said(error)}"]
    if (manifest.get("schema"), manifest.get("version")) != (SCHEMA, VERSION):
        return [f"{MANIFEST}: not {SCHEMA} of version {VERSION}"]
    found = []
    for file in manifest["files"]:
        try:
            same = (folder / file["name"]).stat().st_size == file["bytes"]
            same = same and _sha256(folder / file["name"]) == file["sha256"]
        except OSError as error:
            found.append(f"{file['name']}: {error.strerror}")
            continue
        if not same:
            found.append(f"{file['name']}: not what the manifest says")
    return found


def _contents(
    run: Path, ranks: Sequence[RankView], nodes: Sequence[NodeView], kept: Sequence[Kept]
) -> Iterable[tuple[str, bytes]]:
    """(name, content) of the small files."""
    for view in ranks:
        name = f"rank-{view.rank}.jsonl"
        yield name, _last_lines(run / name)
    yield "topology.json", _text(_topology(run, ranks, nodes))
    yield "states.json", _text([asdict(each) for each in kept])


def _topology(
    run: Path, ranks: Sequence[RankView], nodes: Sequence[NodeView]
) -> dict[str, list[dict[str, Any]]]:
    return {
        "processes": [
            {
                "slot": view.rank,
                "place": view.plays,
                "rank": view.group_rank,
                "node": view.node,
                "member": view.member,
                "living": view.died_at is None,
                "how": view.how,
                "error": view.error,
                **_clock(run / f"rank-{view.rank}.jsonl"),
            }
            for view in ranks
        ],
        "nodes": [
            {"node": node.node, "host": node.host, "address": node.address, "lost": node.lost}
            for node in nodes
        ],
    }


def _clock(log: Path) -> dict[str, Any]:
    """The process's number and boot, as the first line of its log says."""
    try:
        with log.open(encoding="utf-8") as file:
            found = json.loads(file.readline())
        return {"pid": found["pid"], "boot": found["boot"]}
    except (OSError, ValueError, KeyError):
        return {"pid": None, "boot": None}


def _manifest(
    facts: Facts, files: Sequence[Mapping[str, Any]], missing: Sequence[str]
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "incident": facts.incident,
        "run_id": facts.run_id,
        "generation": facts.generation,
        "written_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "suspicions": [asdict(each) for each in facts.suspicions],
        "decision": asdict(facts.decision),
        "missing": list(missing),
        "files": list(files),
    }


def _last_lines(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LAST_BYTES))
            found = file.read()
    except OSError:
        return b""
    return found if size <= _LAST_BYTES else found.partition(b"\n")[2]


def _text(value: Any) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _said(error: Exception) -> str:
    return " ".join(f"{getattr(error, 'strerror', None) or error}".split())[:300]
