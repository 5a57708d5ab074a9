"""Human units: what is read, what is refused with a mend, what is printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor import units
from advisor.errors import UserError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("112.3ms", 0.1123),
        ("4h", 14400.0),
        ("30d", 2592000.0),
        ("90m", 5400.0),
        ("1h30m", 5400.0),
        ("1 h 30 min", 5400.0),
        ("17us", 17e-6),
        ("1-02:03:04", 93784.0),
        ("02:03:04", 7384.0),
        ("1e3s", 1000.0),
        (" 5s ", 5.0),
        ("2w", 1209600.0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert units.parse_duration_s(text) == pytest.approx(seconds, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("600", "600 has no unit: write 600s, 600m or 600h"),
        ("-4h", "negative"),
        ("4 parsecs", "unknown unit 'parsecs'"),
        ("", "not a duration"),
        ("h", "not a duration"),
        ("nan", "not a duration"),
        ("infs", "not a duration"),
        ("4h2", "not a duration"),
        ("12:30", "ambiguous"),
        ("4H", "unknown unit 'H'"),
        ("5%", "unknown unit"),
    ],
)
def test_bad_durations_say_what_is_valid(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        units.parse_duration_s(text)
    assert "write" in str(caught.value) or "such as" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("204.7MB", 204_700_000),
        ("2.6GB", 2_600_000_000),
        ("2GiB", 2 * 1024**3),
        ("1 kB", 1000),
        ("7B", 7),
        ("1TB", 10**12),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert units.parse_bytes(text) == size


@pytest.mark.parametrize("text", ["2.6Gb", "2.6 Gbit", "2.6", "-2GB", "2.6G", "2GB/s", "1GB 2MB"])
def test_bits_bare_numbers_and_rates_are_not_sizes(text: str) -> None:
    with pytest.raises(UserError, match=r"204\.7MB"):
        units.parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("1.37GB/s", 1.37e9), ("100Gbit/s", 12.5e9), ("500 MB/s", 5e8), ("1GiB/s", 1024.0**3)],
)
def test_rates(text: str, rate: float) -> None:
    assert units.parse_bytes_per_s(text) == rate


@pytest.mark.parametrize("text", ["1.37GB", "1.37", "1GB/h", "1Gb/s", "-1GB/s", "GB/s"])
def test_bad_rates(text: str) -> None:
    with pytest.raises(UserError, match=r"1\.37GB/s"):
        units.parse_bytes_per_s(text)


def test_percentages() -> None:
    assert units.parse_fraction("5%") == 0.05
    assert units.parse_fraction("100 %") == 1.0
    for bad in ("5", "0.05", "-5%", "5s", "%"):
        with pytest.raises(UserError, match="5%"):
            units.parse_fraction(bad)


@pytest.mark.parametrize(
    ("text", "number"), [("64", 64), (" 007\n", 7), ("0", 0), ("9" * 30, 10**30 - 1)]
)
def test_whole_numbers(text: str, number: int) -> None:
    assert units.whole_number(text) == number


@pytest.mark.parametrize(
    "text", ["", " ", "-1", "+1", "1.0", "1e3", "1,000", "1_000", "1 0", "many", "٣", "²", "9" * 31]
)
def test_what_is_no_whole_number(text: str) -> None:
    assert units.whole_number(text) is None
    with pytest.raises(UserError, match="is not a number of nodes: write a whole number from 1 to"):
        units.parse_whole(text, "a number of nodes", 1, 10**6)


def test_whole_numbers_have_limits() -> None:
    assert [units.parse_whole(text, "a number", 1, 1_000) for text in ("1", "1000")] == [1, 1_000]
    for text in ("0", "1001"):
        with pytest.raises(UserError) as caught:
            units.parse_whole(text, "a number", 1, 1_000)
        assert str(caught.value) == (
            f"'{text}' is not a number: write a whole number from 1 to 1,000"
        )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (17e-6, "17 µs"),
        (0.01706, "17.06 ms"),
        (11.23, "11.2 s"),
        (59.99, "1 min"),
        (0.99996, "1 s"),
        (0.00099996, "1 ms"),
        (1314.53, "21 min 55 s"),
        (3599.7, "1 h"),
        (2592000.0 + 4 * 3600 + 12 * 60, "30 d 4 h 12 min"),
        (86400.0, "1 d"),
        (-5.0, "-5 s"),
    ],
)
def test_duration_words(seconds: float, text: str) -> None:
    assert units.format_duration(seconds) == text


@given(st.floats(min_value=1e-6, max_value=1e9))
def test_a_printed_duration_is_read_back_close(seconds: float) -> None:
    printed = units.format_duration(seconds).replace(",", "")
    assert units.parse_duration_s(printed) == pytest.approx(seconds, rel=0.03)


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0, "0 %"),
        (0.0048, "0.48 %"),
        (0.0378, "3.78 %"),
        (3.723, "372.3 %"),
        (0.353, "35.3 %"),
        (0.99934, "99.934 %"),
        (1.0, "100 %"),
        (0.00002, "0.002 %"),
        (-0.1787, "-17.87 %"),
    ],
)
def test_percent_words(fraction: float, text: str) -> None:
    assert units.format_percent(fraction) == text


def test_size_words() -> None:
    assert units.format_bytes(204_700_000) == "204.7 MB"
    assert units.format_bytes(2_600_000_000) == "2.6 GB"
    assert units.format_bytes(7) == "7 B"
    assert units.format_bytes_per_s(1.37e9) == "1.37 GB/s"
