"""From samples to fits, and from fits to what is said of real restores."""

import pytest

from advisor.calibration_fits import (
    CheckedSize,
    Origin,
    checked_sizes,
    checks_of,
    fits_of,
    median_error,
)
from db.records import CalibrationPath, CalibrationSample, FitModel, SamplePurpose
from tests.advisor.calibrations import LINES, SESSION, SIZES, STARTED_AT, samples

ORIGIN = Origin(SESSION, STARTED_AT, "measured/mybox", {CalibrationPath.PEER: "loopback"})
MB = 1_000_000


def restore(path: CalibrationPath, size: int, time_s: float) -> CalibrationSample:
    return CalibrationSample(path, size, 1, SamplePurpose.CHECK, time_s)


def started(time_s: float) -> CalibrationSample:
    return CalibrationSample(CalibrationPath.PROCESS_START, None, 1, SamplePurpose.FIT, time_s)


def formed(ranks: int) -> CalibrationSample:
    path = CalibrationPath.GROUP_FORMATION
    return CalibrationSample(path, None, ranks, SamplePurpose.FIT, 0.002 + 0.001 * ranks)


def test_each_path_gets_its_line_whatever_lies_out() -> None:
    fits = fits_of(samples(), ORIGIN)
    assert [fit.path for fit in fits] == sorted(LINES)
    for fit in fits:
        latency_s, s_per_byte = LINES[fit.path]
        assert fit.s_per_byte is not None
        assert fit.latency_s.value == pytest.approx(latency_s, rel=1e-3)
        assert fit.s_per_byte.value == pytest.approx(s_per_byte, rel=1e-3)
        assert (fit.n, fit.outliers, fit.model) == (16, 4, FitModel.BYTES)
        assert (fit.smallest_bytes, fit.largest_bytes) == (SIZES[0], SIZES[-1])
    peer = next(fit for fit in fits if fit.path is CalibrationPath.PEER)
    assert (peer.conditions, peer.processes, peer.source_id) == ("loopback", 2, "measured/mybox")


def test_a_group_grows_with_its_ranks_and_a_start_is_a_mean() -> None:
    measured = [started(0.02), started(0.03), *(formed(n) for n in (2, 4, 8, 2, 4, 8))]
    group, start = fits_of(measured, ORIGIN)
    assert (group.model, group.processes, group.n) == (FitModel.RANKS, 0, 6)
    assert group.s_per_rank is not None
    assert group.s_per_rank.value == pytest.approx(0.001)
    assert group.latency_s.value == pytest.approx(0.002)
    assert (start.model, start.processes, start.smallest_bytes) == (FitModel.MEAN, 1, None)
    assert 0.02 < start.latency_s.value < 0.03
    assert start.latency_s.low < 0.02 < 0.03 < start.latency_s.high


def test_many_processes_have_a_line_of_their_own() -> None:
    path = CalibrationPath.STORAGE_WRITE
    many = [
        CalibrationSample(path, size, 4, SamplePurpose.FIT, 3e-9 * size)
        for size in SIZES
        for _ in range(2)
    ]
    one, four = fits_of([*samples(path), *many], ORIGIN)
    assert (one.processes, four.processes) == (1, 4)
    assert four.s_per_byte is not None
    assert four.s_per_byte.value == pytest.approx(3e-9)


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="4 samples or more"):
        fits_of([next(samples(CalibrationPath.PEER))], ORIGIN)


def test_restores_are_predicted_as_the_code_makes_them() -> None:
    """Storage: read, deserialise. Own slot: verify. Peer: twice, its own and its peer's."""
    size = 8 * MB
    measured = [
        *samples(),
        restore(CalibrationPath.RESTORE_STORAGE, size, 0.01),
        restore(CalibrationPath.RESTORE_OWN, size, 0.002),
        restore(CalibrationPath.RESTORE_PEER, size, 0.016),
    ]
    checks = checks_of(measured, fits_of(measured, ORIGIN), ORIGIN)
    assert [check.ordinal for check in checks] == [96, 97, 98]
    read = 1e-3 + 8e-10 * size + 1e-3 + 1.2e-10 * size
    verify = 5e-4 + 1e-10 * size
    expected = (read, verify, 2 * (1e-3 + 7e-10 * size + verify))
    assert [check.predicted_s for check in checks] == pytest.approx(list(expected), rel=1e-3)
    storage, own, peer = sorted(checked_sizes(measured, checks), key=lambda each: -each.size_bytes)
    assert {storage.path, own.path, peer.path} == {check.path for check in measured[96:]}


def test_checks_without_their_fits_are_not_made_up() -> None:
    measured = [
        *samples(CalibrationPath.PEER),
        restore(CalibrationPath.RESTORE_OWN, 8 * MB, 0.002),
    ]
    assert checks_of(measured, fits_of(measured, ORIGIN), ORIGIN) == []


def test_the_error_is_the_median_over_sizes_whichever_way() -> None:
    path = CalibrationPath.RESTORE_OWN
    sizes = [CheckedSize(path, size, 3, 1.0, 1.0 + off) for size, off in ((1, -0.2), (2, 0.1))]
    assert [each.error for each in sizes] == pytest.approx([-0.2, 0.1])
    assert median_error(sizes) == pytest.approx(0.15)
    assert median_error([]) is None
