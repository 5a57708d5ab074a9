"""A shipped cluster answers for every architecture that it measured, from measured points only:
among the mechanisms that it measured there."""

from pathlib import Path

import pytest

from advisor.evidence import load_evidence, opened
from advisor.rules import Rule
from advisor.scenario import IntervalPolicy, ScenarioInput
from db.records import Evidence
from db.resources import resource_dir
from tests.advisor.conftest import recommend

CLUSTERS = sorted(path.stem for path in (resource_dir("data") / "clusters").glob("*.json"))


@pytest.mark.parametrize("name", CLUSTERS)
def test_each_architecture_is_answered_from_measured_points(
    shipped_database: Path, name: str
) -> None:
    with opened(str(shipped_database)) as engine:
        evidence = load_evidence(engine, name)
    lead_s = max((p.lead_s for p in evidence.points if p.lead_s is not None), default=None)
    architectures = sorted({p.architecture for p in evidence.points})
    assert architectures
    for architecture in architectures:
        inputs = ScenarioInput(
            *(architecture, None, 600.0),
            interval=IntervalPolicy.MEASURED,
            warning_lead_s=lead_s,
            mechanisms=tuple(
                sorted({p.mechanism for p in evidence.points if p.architecture == architecture})
            ),
        )
        answer = recommend(evidence, inputs)
        assert answer.candidates, architecture
        assert answer.selected is not None
        # Its own measurements; a stall may be known from another interval than that of the matrix.
        assert {check.rule for check in answer.selected.checks} <= {
            Rule.INTERVAL,
            Rule.OWN_BEHAVIOUR,
        }
        for candidate in answer.candidates:
            assert candidate.used
            for used in candidate.used:
                assert used.evidence in {Evidence.MEASURED, Evidence.DESIGN_VALUE}
                assert used.source_id == f"measured/{name}"
