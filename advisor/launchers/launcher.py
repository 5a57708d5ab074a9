"""What a launcher is: it brings the cells of a campaign to run, wherever that is.

A launcher hands cells over, hears what became of them and tells the campaign's controller, who
stores and marks (`advisor.campaign_run.CampaignRun`). It has a plan made where there is none.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from advisor.campaign_run import CampaignRun


class Ended(Protocol):
    """How a launch ended; `advisor.harness.Harness` is one."""

    @property
    def interrupts(self) -> int:
        """How often somebody asked it to stop."""

    @property
    def exit_code(self) -> int | None:
        """0 where all went well; 130 after an interruption."""

    @property
    def said(self) -> Sequence[str]:
        """The last lines that whoever ran the cells said, for a person who looks for a bug."""

    def require_success(self) -> None:
        """Raises AdvisorError, or UserError where the request is at fault; nothing if all went
        well."""


class Launcher(Protocol):
    """A way to bring cells to run."""

    def launch(self, run: "CampaignRun") -> Ended:
        """Runs every cell of the campaign that is open, until none is left that it could run, or
        somebody asks it to stop. Called once, by the controller, in its main thread.

        `run.taken` is None where nothing is planned yet. Raises AdvisorError and DatabaseError;
        the controller gives the campaign back, whatever happens.
        """
