"""The plan of a campaign as the measuring harness says it, before anything runs.

It is checked like a run record, since it comes from another process and becomes rows.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError

from db.errors import InvalidDataError
from db.rows import FilledText, FromOne, Id, Whole
from db.run_record import CampaignPart, ClusterPart, EnvironmentPart, Part

_MOST_CELLS = 1_000_000


class CellPart(Part):
    """One planned run; `job` is the harness's own, kept as it is."""

    run_id: Id
    architecture: Id
    mechanism: Id
    trace: FilledText | None
    seed: Whole
    batch_per_rank: FromOne
    job: dict[str, Any]


class CampaignPlanPart(Part):
    """All cells in the order in which they are to run, and what is the same for all of them."""

    campaign: CampaignPart
    cluster: ClusterPart
    environment: EnvironmentPart
    folder: FilledText
    """Where run records go: a run's is in the folder `<folder>/<run id>`."""
    order_seed: Whole | None
    cells: Annotated[
        tuple[CellPart, ...], Field(strict=False, min_length=1, max_length=_MOST_CELLS)
    ]


def read_plan(event: Mapping[str, Any], folder: str) -> CampaignPlanPart:
    """The plan in the harness's event `plan`. Raises InvalidDataError, one line."""
    try:
        return CampaignPlanPart.model_validate(
            {
                **event["surroundings"],
                "folder": folder,
                "order_seed": event["order_seed"],
                "cells": event["cells"],
            }
        )
    except (KeyError, TypeError) as error:
        raise InvalidDataError(f"the harness's plan is not complete: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidDataError(f"the harness's plan: {place}: {first['msg']}") from error
