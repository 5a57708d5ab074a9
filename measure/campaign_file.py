"""A campaign in a TOML or JSON file: blocks of what to run, in the words of the options.

profile = "cpu"                       # what stands before the blocks holds for all of them
seeds = 3

[[block]]
architecture = ["a2", "a4"]
mechanism = ["ft1", "ft2"]
trace = "all"
interval = [10, 20, 50]

A list is every one of its members; a block is every combination. Contract:
data/schemas/campaign-1.schema.json.
"""

import itertools
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure.errors import UsageError
from measure.interfaces.capabilities import Way
from measure.job_spec import Detector
from measure.monitors.catalogue import settings_of
from measure.plan import Request, all_architectures, all_mechanisms, all_traces
from measure.units import duration_s

LARGEST_FILE_BYTES = 100_000
MOST_BLOCKS = 1_000

_TEXTS = ("architecture", "mechanism", "trace")
_SWEPT: Mapping[str, str] = {
    "interval": "interval_steps",
    "replicas": "replicas",
    "keep": "kept",
    "lead": "lead_s",
    "way": "way",
    "detector": "detector",
    "pg-timeout": "group_timeout_s",
}
"""Keys that may be lists, each member a run of its own, and what they are in a request."""
_SINGLE: Mapping[str, str] = {
    "profile": "profile",
    "seeds": "seeds",
    "first-seed": "first_seed",
    "world-size": "world_size",
    "workload": "workload",
    "device": "device",
    "steps": "steps",
    "nodes": "nodes",
    "monitors": "monitors",
}
_NUMBERS = ("seeds", "first-seed", "world-size", "steps", "nodes", "interval", "replicas", "keep")
_DEVICES = ("auto", "cpu", "cuda")
KEYS = (*_TEXTS, *_SWEPT, *_SINGLE)


def requests_of(told: Mapping[str, Any], where: str = "") -> list[Request]:
    """The requests of one block: one for each combination of what may be a list.

    `told` has values as a person writes them; what is left out, or None, is the usual. UsageError
    names `where` and the key.
    """
    values = {key: value for key, value in told.items() if value is not None}
    unknown = sorted(set(values) - set(KEYS))
    if unknown:
        raise UsageError(f"{where}unknown key {unknown[0]!r}: known are {', '.join(KEYS)}")
    if "architecture" not in values:
        raise UsageError(f"{where}architecture: missing: name some, such as a2, or all")
    single = {
        name: _read(where, key, values[key]) for key, name in _SINGLE.items() if key in values
    }
    swept = {
        name: [_read(where, key, each) for each in _listed(where, key, values[key])]
        for key, name in _SWEPT.items()
        if key in values
    }
    usual: dict[str, Any] = {
        "architectures": all_architectures(_texts(where, "architecture", values)),
        "mechanisms": all_mechanisms(_texts(where, "mechanism", values) or ["ft9"]),
        "traces": all_traces(_texts(where, "trace", values) or ["f1"]),
        "profile": "cpu",
        "seeds": 1,
        "first_seed": 0,
        "world_size": 8,
        "group_timeout_s": None,
        "detector": Detector.SUPERVISOR,
        "workload": None,
        "device": "auto",
        "steps": None,
        "lead_s": None,
        "nodes": 1,
        "where": where,
        **single,
    }
    return [
        Request(**{**usual, **dict(zip(swept, chosen, strict=True))})
        for chosen in itertools.product(*swept.values())
    ]


def read_campaign_file(path: Path, usual: Mapping[str, Any]) -> list[Request]:
    """The requests of a file's blocks; `usual` holds what the file leaves out. UsageError, in one
    line with the file, the block and the key."""
    found = _parsed(path)
    blocks = found.pop("block", None)
    if not isinstance(blocks, list) or not blocks or len(blocks) > MOST_BLOCKS:
        raise UsageError(
            f"{path}: block: write 1 to {MOST_BLOCKS} blocks, each under [[block]] (in JSON a list"
            ' of objects called "block")'
        )
    told = {**usual, **found}
    requests = []
    for number, block in enumerate(blocks, start=1):
        where = f"{path}: block {number}: "
        if not isinstance(block, dict):
            raise UsageError(f"{where}write keys such as architecture, not {block!r}")
        requests += requests_of({**told, **block}, where)
    return requests


def _parsed(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot read the campaign: {error.strerror}") from error
    if len(content) > LARGEST_FILE_BYTES:
        raise UsageError(f"{path}: a campaign file has at most {LARGEST_FILE_BYTES} bytes")
    is_json = path.name.lower().endswith(".json")
    try:
        text = content.decode("utf-8-sig")
        parsed = json.loads(text, object_pairs_hook=_once) if is_json else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"{path}: not {'JSON' if is_json else 'TOML'}: {reason}") from error
    if not isinstance(parsed, dict):
        raise UsageError(f"{path}: not a table: write blocks, each under [[block]]")
    return parsed


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON lets the last of two equal keys win in silence."""
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{twice[0]} is there twice")
    return dict(pairs)


def _listed(where: str, key: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        return [value]
    if not value:
        raise UsageError(f"{where}{key}: an empty list: leave the key out")
    return value


def _texts(where: str, key: str, values: Mapping[str, Any]) -> list[str]:
    found = _listed(where, key, values[key]) if key in values else []
    for each in found:
        if not isinstance(each, str):
            raise UsageError(f"{where}{key}: must be a name or a list of names, not {each!r}")
    return list(found)


def _read(where: str, key: str, value: Any) -> Any:
    if key in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int):
            raise UsageError(f"{where}{key}: must be a whole number, not {value!r}")
        return value
    if not isinstance(value, str):
        raise UsageError(f"{where}{key}: must be a text, not {value!r}")
    try:
        return _READERS.get(key, str)(value)
    except UsageError as error:
        # Of one block, the block is named; of an option, its own words do.
        raise UsageError(f"{where}{key}: {error}" if where else str(error)) from error


def _detector(name: str) -> Detector:
    known = [detector.value for detector in Detector]
    if name not in known:
        raise UsageError(f"unknown detector {name!r}: known are {', '.join(known)}")
    return Detector(name)


def _lead_s(text: str) -> float:
    return 0.0 if text.lower() == "none" else duration_s(text)


def _way(name: str) -> Way:
    known = [way.value for way in Way]
    if name not in known:
        raise UsageError(f"unknown way {name!r}: known are {', '.join(known)}")
    return Way(name)


def _monitors(text: str) -> tuple[str, ...]:
    return tuple(str(setting) for setting in settings_of([text]))


def _device(name: str) -> str:
    if name not in _DEVICES:
        raise UsageError(f"unknown device {name!r}: known are {', '.join(_DEVICES)}")
    return name


_READERS: Mapping[str, Callable[[str], Any]] = {
    "detector": _detector,
    "lead": _lead_s,
    "way": _way,
    "pg-timeout": duration_s,
    "device": _device,
    "monitors": _monitors,
    "profile": str.lower,
}
