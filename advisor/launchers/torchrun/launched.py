"""The first host's part of a campaign on several hosts: torchrun, whose process is the harness.

It is handed cells and says events like any harness. The other hosts' torchruns are started by a
person, or by whatever starts programs there; until all are there, torchrun waits.
"""

import json
import shlex
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from advisor.campaign_run import CampaignRun
from advisor.errors import AdvisorError, UserError
from advisor.harness import Event, Harness
from advisor.launchers.cells import nodes_of
from advisor.launchers.launcher import Ended
from advisor.launchers.local import LocalLauncher
from advisor.launchers.planned import new_campaign_id, planned_here
from advisor.launchers.torchrun.settings import TorchrunSettings, worker_exit_code
from advisor.launchers.whole_file import write_whole

_MARK = "torchrun.json"
_SEVERAL = (
    "torchrun is for runs on several hosts: say how many by --nodes, 2 or more; on one leave"
    " --launcher"
)


class TorchrunHarness(Harness):
    """A harness within torchrun."""

    _told: int | None = None

    def events(self) -> Iterator[Event]:
        """Those of the harness. Where it says what was wrong, torchrun's traceback adds nothing."""
        yield from super().events()
        self._told = worker_exit_code(self.said)
        wrong = [line for line in self.said if line.startswith("error: ")]
        self.said = deque(wrong or self.said, self.said.maxlen)

    @property
    def exit_code(self) -> int | None:
        """That of the harness, where torchrun tells it."""
        code = super().exit_code
        return self._told if code == 1 and self._told is not None else code


class FirstHost(LocalLauncher):
    """Runs cells by the torchrun of host 0. It is not started again: the others end with it."""

    revives = False

    def __init__(
        self,
        settings: TorchrunSettings,
        arguments: Sequence[str] = (),
        on_interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings = settings
        super().__init__(self.command_of(arguments), on_interrupt)

    def command_of(self, arguments: Sequence[str]) -> list[str]:
        return self._settings.command(0, [*arguments, "--events", "--on-demand"])

    def started(self, command: Sequence[str]) -> Harness:
        return TorchrunHarness(command, on_interrupt=self.on_interrupt)

    def launch(self, run: CampaignRun) -> Ended:
        """Runs the cells, once all hosts are there."""
        run.shown.say(waiting_words(self._settings))
        return super().launch(run)


class TorchrunLauncher:
    """A new campaign: checks what was asked, then has the first host run it.

    `arguments` are the harness's, `folder` is that of all records; `given` are the settings that a
    person gave (`TorchrunSettings`), `hosts` how many, where somebody said so: otherwise as many
    as the cell on most nodes needs.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        hosts: int | None,
        given: Mapping[str, Any],
        on_interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        if "master_addr" not in given:
            raise UserError(
                "say where the other hosts find this one: --master-addr, such as 10.0.0.1"
            )
        if (hosts or 1) < 2 and not any(word.startswith("--campaign-file=") for word in arguments):
            raise UserError(_SEVERAL)
        self._campaign = new_campaign_id()
        self._arguments = [*arguments, f"--campaign={self._campaign}"]
        # Otherwise the harness would put every run on all hosts.
        self._arguments += ["--nodes=1"] if hosts is None else []
        self._folder, self._hosts = folder, hosts
        self._given, self._on_interrupt = given, on_interrupt

    def launch(self, run: CampaignRun) -> Ended:
        """Runs the cells. Raises UserError, before anything is started, where the request is at
        fault."""
        settings = self._checked()
        folder = self._folder / self._campaign
        _write_mark(folder, settings)
        try:
            return FirstHost(settings, self._arguments, self._on_interrupt).launch(run)
        finally:
            if run.taken is None:
                _take_back(folder)

    def dry_run(self) -> str:
        """torchrun's command on each host. Raises UserError."""
        settings = self._checked()
        texts = {"this host": settings.command(0, self._arguments)}
        texts |= {f"host {n}": settings.command(n) for n in range(1, settings.hosts)}
        return "\n".join(
            f"==> {host} <==\n{shlex.join(command)}\n" for host, command in texts.items()
        )

    def _checked(self) -> TorchrunSettings:
        event = planned_here(self._arguments)
        most = max(nodes_of(cell) for cell in event["cells"])
        hosts = max(most, self._hosts or 1)
        if hosts < 2:
            raise UserError(_SEVERAL)
        return TorchrunSettings(hosts=hosts, **self._given)


def waiting_words(settings: TorchrunSettings) -> str:
    """What to start on the other hosts."""
    if settings.hosts == 2:
        return f"waiting for the other host; run there: {shlex.join(settings.command(1))}"
    command = shlex.join(settings.command("K"))
    return (
        f"waiting for {settings.hosts - 1} other hosts; run there, K from 1 to"
        f" {settings.hosts - 1}: {command}"
    )


def is_of_torchrun(folder: Path) -> bool:
    """Whether the campaign of this folder is run on hosts that torchrun brings together."""
    return (folder / _MARK).is_file()


def go_on(run: CampaignRun, given: Mapping[str, Any], on_interrupt: Callable[[], None]) -> Ended:
    """Goes on with a campaign; `given` are settings that were given anew. Raises AdvisorError."""
    folder = Path(run.measured.folder)
    settings = _read_mark(folder).changed(given)
    _write_mark(folder, settings)
    return FirstHost(settings, on_interrupt=on_interrupt).launch(run)


def _read_mark(folder: Path) -> TorchrunSettings:
    path = folder / _MARK
    try:
        return TorchrunSettings.from_json(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise AdvisorError(f"{path}: cannot read the hosts of the campaign: {error}") from error


def _write_mark(folder: Path, settings: TorchrunSettings) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / _MARK, json.dumps(settings.as_json()) + "\n")
    except OSError as error:
        raise UserError(f"{folder}: cannot write run records here: {error.strerror}") from error


def _take_back(folder: Path) -> None:
    """There is no campaign: nothing of it is to be left."""
    with suppress(OSError):
        (folder / _MARK).unlink()
        folder.rmdir()
