"""Runs of validations for tests, in this one place."""

from dataclasses import replace
from typing import Any

from db.records import Arrivals, ValidatedRun, ValidationRole


def validated_run(
    mechanism: str = "ft2",
    role: ValidationRole = ValidationRole.SELECTED,
    predicted_s: float | None = 100.0,
    observed_s: float | None = 100.0,
    **changes: Any,
) -> ValidatedRun:
    made = ValidatedRun(
        validation="v1",
        name="mine",
        created_at="2026-11-30T08:00:00Z",
        architecture="a2",
        scenario="{}",
        mtbf_s=20.0,
        planned_step_time_s=0.05,
        step_time_s=None if predicted_s is None else 0.05,
        steps=1000,
        arrivals=Arrivals.POISSON,
        shape=1.0,
        seed=3,
        covered_s=200.0,
        mechanism=mechanism,
        role=role,
        interval_steps=20,
        evidence="M",
        predicted_s=predicted_s,
        failures_expected=5.0,
        observed_s=observed_s,
        failures=4,
        outcome="recovered" if observed_s else "halted",
        run_id=f"c/{mechanism}",
    )
    return replace(made, **changes)
