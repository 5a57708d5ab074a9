"""A campaign whose cells run as tasks of SLURM job arrays."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from advisor.campaign_run import CampaignRun
from advisor.harness import Event, InterruptedRunsError
from advisor.launchers.cells import by_nodes, nodes_of, profiles_of, ranks_of
from advisor.launchers.launcher import Ended
from advisor.launchers.planned import new_campaign_id, planned_here
from advisor.launchers.slurm.following import Follower, grouped, task_script
from advisor.launchers.slurm.place import Campaign, HandedCell, Place, task_file
from advisor.launchers.slurm.planning import plan_script, planned_there
from advisor.launchers.slurm.scheduler import Limits, Scheduler
from advisor.launchers.slurm.script import Script, check_path
from advisor.launchers.slurm.settings import SlurmSettings
from advisor.launchers.slurm.stopping import StopAsked, StoppedError

POLL_S = 10.0
"""How often SLURM is asked, by one squeue: it has other users."""


@dataclass(frozen=True, slots=True)
class Followed:
    """How following the tasks ended."""

    interrupts: int
    said: Sequence[str] = ()

    @property
    def exit_code(self) -> int:
        return InterruptedRunsError.exit_code if self.interrupts else 0

    def require_success(self) -> None:
        """What the cells showed, and which are open, the campaign says."""


class SlurmLauncher:
    """Has the plan made by a job, sends the cells as job arrays, follows them.

    `arguments` are the harness's, `folder` is that of all records. What they leave to chance is
    drawn here, so that the plan is the same wherever it is made; a cluster without a name gets
    SLURM's.
    """

    def __init__(
        self,
        settings: SlurmSettings,
        arguments: Sequence[str],
        folder: Path,
    ) -> None:
        self._settings, self._folder = settings, folder
        self._scheduler = Scheduler()
        self._campaign = new_campaign_id()
        self._arguments = [*arguments, f"--campaign={self._campaign}"]
        if not any(word.startswith("--order-seed=") for word in arguments):
            self._arguments.append(f"--order-seed={secrets.randbelow(10**6)}")
        self._place = Place(folder / self._campaign)

    def launch(self, run: CampaignRun) -> Ended:
        """Runs the cells. Raises UserError, before anything is sent, where the request or SLURM's
        options are at fault."""
        limits, _ = self._checked()
        with StopAsked() as stop:
            event = self._planned(run, stop)
            if event is None:
                return Followed(stop.count)
            run.at_once = self._settings.at_once(profiles_of(event["cells"]))
            run.plan(event)
            follower = Follower(
                run, self._scheduler, limits, self._place, self._settings, stop, POLL_S
            )
            follower.follow()
            return Followed(stop.count)

    def dry_run(self) -> str:
        """What would be sent: scripts and task file, each under its path. Raises UserError."""
        limits, event = self._checked()
        place, settings = self._place, self._settings
        cells = [
            HandedCell(ordinal, len(event["cells"]), cell)
            for ordinal, cell in enumerate(event["cells"], start=1)
        ]
        campaign = _campaign_of(event, self._folder)
        texts = {"job-plan.sh": self._plan_script().text()}
        for number, (nodes, those) in enumerate(by_nodes(cells).items(), start=1):
            size = settings.group_of(profiles_of(cell.parameters for cell in those))
            groups = grouped(those, size, limits.most_tasks)
            script = task_script(place, self._campaign, number, len(groups), settings, nodes)
            texts[f"job-{number}.sh"] = script.text()
            texts[f"job-{number}.json"] = task_file(campaign, groups)
        return "\n".join(f"==> {place.folder / name} <==\n{text}" for name, text in texts.items())

    def _checked(self) -> tuple[Limits, Event]:
        """The cluster's limits, and the plan as it would be here. Raises UserError where SLURM
        could never run the tasks, or the cells cannot be run."""
        check_path(self._folder)
        limits = self._scheduler.limits()
        if limits.cluster and not any(word.startswith("--cluster=") for word in self._arguments):
            self._arguments.append(f"--cluster={limits.cluster}")
        script = self._plan_script()
        self._scheduler.test(script.text(), script.options)
        event = planned_here(self._arguments)
        self._settings = replace(self._settings, ranks=ranks_of(event["cells"]))
        most = max(nodes_of(cell) for cell in event["cells"])
        if most > 1 or self._settings.share_nodes:  # so many nodes, or cores, have to be there
            script = task_script(self._place, self._campaign, 1, 1, self._settings, most)
            self._scheduler.test(script.text(), script.options)
        return limits, event

    def _planned(self, run: CampaignRun, stop: StopAsked) -> Event | None:
        script = self._plan_script()
        self._place.make(self._settings)
        try:
            with self._place.submitting(stop, run.shown.say) as held:
                path = self._place.write("job-plan.sh", script.text())
                answer = self._place.folder / "job-plan.id"
                self._scheduler.submit(path, script.options, answer, held)
        except StoppedError:
            return None
        return planned_there(
            self._scheduler, self._place, self._campaign, stop, run.shown.say, POLL_S
        )

    def _plan_script(self) -> Script:
        return plan_script(self._place, self._campaign, self._arguments, self._settings)


def go_on(run: CampaignRun, given: Mapping[str, Any]) -> Ended:
    """Goes on with a campaign; `given` are settings of SLURM's that were given anew. Raises
    UserError where SLURM could never run its cells with them: those of before are kept then."""
    place, scheduler = Place(Path(run.measured.folder)), Scheduler()
    settings = place.settings().changed(given)
    limits, cells = scheduler.limits(), [cell.parameters for cell in run.open_cells()]
    if given:
        most = max(map(nodes_of, cells), default=1)
        script = task_script(place, run.measured.campaign, 1, 1, settings, most)
        scheduler.test(script.text(), script.options)
    place.make(settings)
    run.at_once = settings.at_once(profiles_of(cells))
    run.show_plan()
    with StopAsked() as stop:
        Follower(run, scheduler, limits, place, settings, stop, POLL_S).follow()
        return Followed(stop.count)


def _campaign_of(event: Event, folder: Path) -> Campaign:
    about = event["surroundings"]["campaign"]
    return Campaign(
        about["campaign"],
        about["command"],
        event["cluster"],
        str(folder),
        about["seed"],
        about["created_at"],
    )
