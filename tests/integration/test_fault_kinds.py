"""What the harness can do to a rank is what records and the app have words for."""

from typing import get_args

from advisor.figures.runs import FAULT_WORDS
from advisor.reports.run_words import _PHASES
from db.run_record import AtPhase, FaultPart
from measure.faults.kinds import FaultKind, RecoveryPhase, StartPhase


def test_records_know_every_kind_and_every_phase() -> None:
    assert set(get_args(FaultPart.model_fields["kind"].annotation)) == set(FaultKind)
    phases = {*StartPhase, *RecoveryPhase}
    assert set(get_args(AtPhase.model_fields["phase"].annotation)) == phases


def test_each_has_its_words() -> None:
    assert set(FAULT_WORDS) == set(FaultKind)
    assert set(_PHASES) == {*StartPhase, *RecoveryPhase}
