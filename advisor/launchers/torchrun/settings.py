"""The hosts of a campaign that torchrun brings together, and torchrun's command on each. Pure."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

PORT = 29_500
"""Of torchrun's store on the first host, unless told otherwise; torchrun's own default."""
_EXIT_CODE = re.compile(r"\bexitcode\s*:\s*(-?\d+)")


@dataclass(frozen=True, slots=True)
class TorchrunSettings:
    """So many hosts, numbered from 0; the first one's name or address, as the others find it."""

    hosts: int
    master_addr: str
    master_port: int = PORT

    def changed(self, given: Mapping[str, Any]) -> "TorchrunSettings":
        """The settings with those that were given anew; what is None was not."""
        return replace(self, **{name: value for name, value in given.items() if value})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> "TorchrunSettings":
        """The settings that `as_json` gave; what it does not know is left out. Raises TypeError
        where something is missing."""
        known = {each.name for each in fields(TorchrunSettings)}
        return TorchrunSettings(**{name: v for name, v in found.items() if name in known})

    def command(self, host: int | str, words: Sequence[str] = ()) -> list[str]:
        """torchrun's command on a host: one process, which runs cells on host 0 as the words say,
        and is a node of them on the others."""
        return [
            *(sys.executable, "-m", "torch.distributed.run"),
            *(f"--nnodes={self.hosts}", f"--node-rank={host}", "--nproc-per-node=1"),
            *(f"--master-addr={self.master_addr}", f"--master-port={self.master_port}"),
            *("-m", "measure", "torchrun", *words),
        ]


def worker_exit_code(lines: Iterable[str]) -> int | None:
    """The exit code of the process that torchrun ran, out of what torchrun says where that failed:
    its own is 1 then. None where it says none."""
    found = [match.group(1) for line in lines for match in _EXIT_CODE.finditer(line)]
    return int(found[-1]) if found else None
