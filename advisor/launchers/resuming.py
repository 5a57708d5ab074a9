"""Goes on with a campaign by the launcher that it was begun with, which its folder tells."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from advisor.campaign_run import CampaignRun
from advisor.errors import UserError
from advisor.launchers.launcher import Ended
from advisor.launchers.local import LocalLauncher
from advisor.launchers.slurm import launched as slurm
from advisor.launchers.slurm.place import Place
from advisor.launchers.torchrun import launched as torchrun

_WHERE = {
    "local": "on one machine, without SLURM and torchrun",
    "slurm": "under SLURM",
    "torchrun": "by torchrun",
}


class ResumingLauncher:
    """`given` are settings that were given anew, by launcher; `wanted` is the launcher that was
    asked for, None where nobody said."""

    def __init__(
        self,
        local: LocalLauncher,
        given: Mapping[str, Mapping[str, Any]],
        wanted: str | None = None,
    ) -> None:
        self._local, self._given, self._wanted = local, given, wanted

    def launch(self, run: CampaignRun) -> Ended:
        """Goes on. Raises UserError where another launcher was asked for."""
        begun = _begun_with(Path(run.measured.folder))
        others = {name for name, settings in self._given.items() if settings} - {begun}
        if others or self._wanted not in (None, begun):
            raise UserError(
                f"campaign {run.measured.campaign} is run {_WHERE[begun]}, and goes on there: leave"
                " --launcher and its options"
            )
        if begun == "slurm":
            return slurm.go_on(run, self._given["slurm"])
        if begun == "torchrun":
            return torchrun.go_on(run, self._given["torchrun"], self._local.on_interrupt)
        return self._local.launch(run)


def _begun_with(folder: Path) -> str:
    if Place(folder).exists():
        return "slurm"
    return "torchrun" if torchrun.is_of_torchrun(folder) else "local"
