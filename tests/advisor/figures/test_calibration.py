"""The curves of a calibration, and predictions against observations."""

from dataclasses import replace
from itertools import pairwise
from math import log10

import pytest

from advisor.calibration_fits import Origin, fits_of
from advisor.figures.agreement import Compared, agreement
from advisor.figures.calibration import curves_of, path_figure
from db.records import CalibrationPath, CalibrationSample, FitModel, FittedNumber, SamplePurpose
from tests.advisor import calibrations

ORIGIN = Origin(calibrations.SESSION, calibrations.STARTED_AT, "failbench-2026", {})
STORAGE, STARTS = CalibrationPath.STORAGE_WRITE, CalibrationPath.PROCESS_START
GROUPS = CalibrationPath.GROUP_FORMATION


def samples() -> list[CalibrationSample]:
    """Bytes by one and by four processes, groups of 2, 4 and 8 ranks, starts, a real restore."""
    fit = SamplePurpose.FIT
    alone = list(calibrations.samples(STORAGE))
    shared = [
        CalibrationSample(STORAGE, each.size_bytes, 4, fit, 3.0 * each.duration_s) for each in alone
    ]
    groups = [
        CalibrationSample(GROUPS, None, ranks, fit, 0.05 + 0.01 * ranks)
        for ranks in (2, 4, 8, 2, 4, 8)
    ]
    starts = [CalibrationSample(STARTS, None, 1, fit, s) for s in (0.02, 0.03, 0.025)]
    restore = CalibrationSample(
        CalibrationPath.RESTORE_OWN, 8_000_000, 1, SamplePurpose.CHECK, 0.01
    )
    return [*alone, *shared, *groups, *starts, restore]


def test_each_fit_has_the_samples_that_it_was_fitted_to() -> None:
    made = samples()
    found = curves_of(made, fits_of(made, ORIGIN))
    assert list(found) == sorted((STORAGE, STARTS, GROUPS))
    assert [(c.fit.processes, len(c.at)) for c in found[STORAGE]] == [(1, 16), (4, 16)]
    (groups,), (starts,) = found[GROUPS], found[STARTS]
    assert sorted(set(groups.at)) == [2, 4, 8]
    assert starts.at == (1, 2, 3)
    assert starts.duration_s == (0.02, 0.03, 0.025)


def test_a_curve_is_the_fit_from_the_smallest_to_the_largest_sample() -> None:
    made = samples()
    for curves in curves_of(made, fits_of(made, ORIGIN)).values():
        for curve in curves:
            assert curve.places[0] == pytest.approx(min(curve.at))
            assert curve.places[-1] == pytest.approx(max(curve.at))
            for low, value, high in zip(curve.low_s, curve.line_s, curve.high_s, strict=True):
                assert 0.0 <= low <= value <= high
    (alone, _) = curves_of(made, fits_of(made, ORIGIN))[STORAGE]
    expected = [alone.fit.duration_s(place) for place in alone.places]
    assert alone.line_s == pytest.approx(expected)
    fit = alone.fit
    assert fit.s_per_byte is not None
    highest = fit.latency_s.high + fit.s_per_byte.high * max(alone.at)
    assert alone.high_s[-1] == pytest.approx(highest)


def test_the_axes_hold_every_sample_and_have_ticks() -> None:
    made = samples()
    for path, curves in curves_of(made, fits_of(made, ORIGIN)).items():
        figure = path_figure(path, curves)
        if path is STARTS:
            assert figure.layout.xaxis.type == "linear"
            assert figure.layout.xaxis.dtick == 1
            continue
        for axis, values in (
            (figure.layout.xaxis, [at for curve in curves for at in curve.at]),
            (figure.layout.yaxis, [s for curve in curves for s in curve.duration_s]),
        ):
            low, high = axis.range
            assert axis.type == "log"
            assert low <= log10(min(values)) <= log10(max(values)) <= high
            assert axis.tickvals
            assert len(axis.tickvals) == len(axis.ticktext)
            assert all(low <= log10(tick) <= high for tick in axis.tickvals)


def test_one_process_and_four_are_told_apart_without_colours() -> None:
    made = samples()
    figure = path_figure(STORAGE, curves_of(made, fits_of(made, ORIGIN))[STORAGE])
    lines = [trace for trace in figure.data if trace.mode == "lines" and trace.line.dash]
    points = [trace for trace in figure.data if trace.mode == "markers"]
    assert [line.name for line in lines] == ["1 process", "4 processes"]
    assert len({line.line.dash for line in lines}) == 2
    assert len({each.marker.symbol for each in points}) == 2
    assert figure.layout.showlegend
    assert points[0].customdata[0] == "1 MB: 3 ms"


def test_an_interval_that_reaches_zero_ends_at_the_edge() -> None:
    made = samples()
    (curve,) = curves_of(made, fits_of(made, ORIGIN))[STARTS]
    assert curve.fit.model is FitModel.MEAN
    wide = replace(curve, fit=replace(curve.fit, latency_s=FittedNumber(0.02, 0.0, 0.05)))
    band = path_figure(STARTS, [wide]).data[0]
    assert min(band.y) == pytest.approx(0.01)


def test_sizes_within_one_decade_have_a_tick() -> None:
    made = [
        CalibrationSample(STORAGE, size, 1, SamplePurpose.FIT, 1e-3 + 1e-9 * size)
        for size in (2_000_000, 4_000_000, 8_000_000)
        for _ in range(2)
    ]
    figure = path_figure(STORAGE, curves_of(made, fits_of(made, ORIGIN))[STORAGE])
    assert list(figure.layout.xaxis.ticktext) == ["2 MB"]


def test_predictions_stand_beside_what_was_observed() -> None:
    points = [
        Compared("restore own", "1 MB", 0.010, 0.011),
        Compared("restore own", "8 MB", 0.080, 0.060),
        Compared("restore <b>peer</b>", "8 MB", 0.5, 0.5),
    ]
    figure = agreement(points, 0.15)
    band, own, peer = figure.data
    assert list(own.x) == [0.010, 0.080]
    assert list(own.y) == pytest.approx([10.0, -25.0])
    assert own.marker.symbol != peer.marker.symbol
    assert own.customdata[0] == "1 MB: observed 10 ms, predicted 11 ms (10 %)"
    assert "<b>" not in peer.name
    assert band.name == "within 15 %"
    assert (min(band.y), max(band.y)) == (-15.0, 15.0)
    low, high = figure.layout.xaxis.range
    assert (low, high) == (-2.0, 0.0)
    assert (10**low, 10**high) == (min(band.x), max(band.x))
    assert all(a < b for a, b in pairwise(figure.layout.xaxis.tickvals))
    low, high = figure.layout.yaxis.range
    assert low < -25.0 < 25.0 < high


def test_small_errors_are_seen_within_the_band() -> None:
    figure = agreement([Compared("x", "x", 1.0, 1.01)], 0.1)
    low, high = figure.layout.yaxis.range
    assert low < -10.0 < 10.0 < high
