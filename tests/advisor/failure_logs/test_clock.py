"""Times as logs write them, also where clocks change."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock, is_absent, parse_zone
from advisor.failure_logs.windows import parse_window

BERLIN = parse_zone("Europe/Berlin")


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-01T12:00:00",
        "2024-03-01 12:00:00",
        "2024-03-01T12:00:00Z",
        "2024-03-01 14:00:00+02:00",
        "3/1/2024 12:00",
        "20240301T120000",
        "03/01/2024 12:00:00",
        "1709294400",
    ],
)
def test_one_moment_in_many_words(text: str) -> None:
    assert Clock().instant_s(text) == 1709294400.0


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2024-02-30", "2/30/2024 1:00", "1/2/3/4", "-5", "1e99", "nan", "٣"),
        *("20240230", "1234567", "99999999.5", "1700000_00", "1709251200000", "1.7e9"),
        *("1/2/2024 3:61", "1/2/2024 3:04:77", "1/2/02 3:04", "1/2/2024 3:04:05:06"),
        *("0001-01-01T00:00+23:59Z", "9" * 5000),
    ],
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="a time that cannot be read"):
        Clock().instant_s(text)


def test_eight_digits_are_a_date() -> None:
    assert Clock().instant_s("20240301") == Clock().instant_s("2024-03-01")


def test_a_local_time_is_that_of_its_zone() -> None:
    assert Clock(BERLIN).instant_s("2024-07-01T12:00:00") == Clock().instant_s("2024-07-01T10:00")
    assert Clock(BERLIN).instant_s("2024-01-01T12:00:00") == Clock().instant_s("2024-01-01T11:00")


def test_a_night_has_an_hour_more_or_less() -> None:
    clock = Clock(BERLIN)
    start, end = clock.span_s("2024-10-26T23:00:00", "2024-10-27T05:00:00", None)
    assert end is not None
    assert end - start == 7 * 3600
    start, end = clock.span_s("2024-03-30T23:00:00", "2024-03-31T05:00:00", None)
    assert end is not None
    assert end - start == 5 * 3600
    assert clock.notes() == []


@pytest.mark.parametrize("length_s", [1800, 5400])
def test_the_hour_that_comes_twice_is_told_by_the_duration(length_s: int) -> None:
    clock = Clock(BERLIN)
    start, end = clock.span_s("2024-10-27T02:00:00", "2024-10-27T02:30:00", float(length_s))
    assert end is not None
    assert end - start == length_s
    assert len(clock.notes()) == 1


def test_in_the_hour_that_comes_twice_nothing_ends_before_it_starts() -> None:
    clock = Clock(BERLIN)
    start, end = clock.span_s("2024-10-27T02:50:00", "2024-10-27T02:10:00", None)
    assert end is not None
    assert end - start == 20 * 60


def test_an_hour_that_was_skipped_is_noted() -> None:
    clock = Clock(BERLIN)
    clock.instant_s("2024-03-31T02:30:00")
    (note,) = clock.notes()
    assert "time zone" in note


def test_a_duration_that_does_not_fit_is_noted() -> None:
    clock = Clock()
    clock.span_s("2024-03-31T00:00:00", "2024-03-31T05:00:00", 6 * 3600.0)
    clock.span_s("2024-03-31T00:00:00", "2024-03-31T05:00:00", 1 * 3600.0)  # suspended: allowed
    (note,) = clock.notes()
    assert "from start to end: 1;" in note


def test_an_end_before_the_start_is_refused() -> None:
    with pytest.raises(ValueError, match="before"):
        Clock().span_s("2024-03-31T05:00:00", "2024-03-31T00:00:00", None)


def test_an_absent_end_comes_from_the_duration() -> None:
    assert Clock().span_s("1700000100", None, 60.0) == (1700000100.0, 1700000160.0)
    assert Clock().span_s("1700000100", None, None) == (1700000100.0, None)


@given(st.datetimes(datetime(1990, 1, 1), datetime(2037, 1, 1)))
def test_every_local_time_has_a_reading(moment: datetime) -> None:
    clock = Clock(BERLIN)
    at_s = clock.instant_s(moment.isoformat())
    back = datetime.fromtimestamp(at_s, BERLIN).replace(tzinfo=None)
    assert back == moment or clock.never == 1


@pytest.mark.parametrize("text", ["", "None", "Unknown", "N/A", "nan", " NaT "])
def test_absent(text: str) -> None:
    assert is_absent(text)


@pytest.mark.parametrize("name", ["Nowhere/Town", "../etc/passwd", "", "/etc"])
def test_zones_that_are_none(name: str) -> None:
    with pytest.raises(UserError, match="Europe/Berlin"):
        parse_zone(name)


def test_windows() -> None:
    window, length_s = parse_window("2024-03-01..2024-03-02", Clock())
    assert length_s is None
    assert window is not None
    assert window.end_s - window.start_s == 86400.0
    assert parse_window("54d", Clock()) == (None, 54 * 86400.0)


@pytest.mark.parametrize(
    "text", ["..", "a..b", "2024-03-02..2024-03-01", "2024-03-01..", "0s", "5"]
)
def test_windows_that_are_none(text: str) -> None:
    with pytest.raises(UserError):
        parse_window(text, Clock())
