"""What the harness would plan for its arguments: to check what was asked before others are called
upon; and the name of a campaign that is begun so."""

import json
import secrets
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from advisor.errors import AdvisorError, UserError
from advisor.harness import Event, harness_environment

HARNESS = (sys.executable, "-m", "measure")


def new_campaign_id() -> str:
    """As the harness names campaigns: when it began, and eight random digits."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


def planned_here(arguments: Sequence[str]) -> Event:
    """The plan of these arguments of the harness as if its runs were made on this machine. Raises
    UserError where they cannot be run, AdvisorError where the harness fails."""
    asked = subprocess.run(
        [*HARNESS, "plan", *arguments, "--elsewhere"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env=harness_environment(),
        check=False,
    )
    said = [line.strip() for line in asked.stderr.splitlines() if line.strip()]
    wrong = [line for line in said if "error: " in line] or said or ["it says nothing"]
    reason = wrong[-1].rpartition("error: ")[2]
    try:
        event = json.loads(asked.stdout)
    except ValueError:
        kind = UserError if asked.returncode == 2 else AdvisorError
        raise kind(reason) from None
    return accepted(event)


def accepted(event: Event) -> Event:
    """The event of a plan. Raises UserError where it says that the request was refused."""
    if event.get("event") == "refused":
        raise UserError(str(event["reason"]))
    return event
