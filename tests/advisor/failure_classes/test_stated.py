"""Classes and monitors as they are stated: every key, and one line for what cannot be."""

from pathlib import Path

import pytest

from advisor.errors import UserError
from advisor.failure_classes.catalogue import CORRUPTING, FailureClass
from advisor.failure_classes.noticing import first_noticed, missed_share, wrong_probability
from advisor.failure_classes.stated import (
    ClassRate,
    Monitor,
    Stated,
    parse_class,
    parse_monitor,
    parse_stated,
    read_stated,
    together,
)

_DAY_S = 86400.0


@pytest.mark.parametrize(
    ("text", "every_s"),
    [
        ("silent-corruption=30d", 30 * _DAY_S),
        ("silent-corruption=0.1/day", 10 * _DAY_S),
        ("divergence = 2/h", 1800.0),
        ("hang=4h", 4 * 3600.0),
        ("coordinator-loss=1e-1/w", 70 * _DAY_S),
    ],
)
def test_a_rate_is_a_time_between_two_or_a_rate(text: str, every_s: float) -> None:
    assert parse_class(text).every_s == pytest.approx(every_s)


def test_keys_of_classes() -> None:
    assert parse_class("hang=30d,detection=10m") == ClassRate(
        FailureClass.HANG, 30 * _DAY_S, detection_s=600.0
    )
    assert parse_class("coordinator-loss=30d,recovery=5m,detection=0s") == ClassRate(
        FailureClass.COORDINATOR_LOSS, 30 * _DAY_S, detection_s=0.0, recovery_s=300.0
    )
    assert parse_class("straggler=2d,factor=1.5,length=20m") == ClassRate(
        FailureClass.STRAGGLER, 2 * _DAY_S, factor=1.5, length_s=1200.0
    )


def test_keys_of_monitors() -> None:
    digest = parse_monitor("digest:interval=10,cost=12ms,miss=0.01,false=0.1/day")
    assert digest == Monitor(
        "digest",
        0.012,
        dict.fromkeys(CORRUPTING, 0.01),
        false_per_s=0.1 / _DAY_S,
        interval_steps=10,
    )
    audit = parse_monitor(
        "audit:watches=divergence+silent-corruption,cost=1s,miss=5%,miss-divergence=0,"
        "false=1e-6,delay=2s,interval=auto"
    )
    assert audit.miss == {FailureClass.DIVERGENCE: 0.0, FailureClass.SILENT_CORRUPTION: 0.05}
    assert (audit.false_per_check, audit.delay_s, audit.interval_steps) == (1e-6, 2.0, None)
    assert parse_monitor("stragglers:cost=0s,miss=0,false=0/day").is_for_stragglers


_FILE = """
[class.silent-corruption]
every = "30d"

[class.straggler]
every = "0.5/day"
factor = 1.5
length = "20m"

[monitor.digest]
interval = 10
cost = "12ms"
miss = 0.01
miss-divergence = "0%"
false = "0.1/day"
watches = ["divergence", "silent-corruption"]
"""


def test_a_file_says_the_same_as_options(tmp_path: Path) -> None:
    path = tmp_path / "failures.toml"
    path.write_text(_FILE, encoding="utf-8")
    stated = read_stated(path)
    assert stated.classes == (
        parse_class("silent-corruption=30d"),
        parse_class("straggler=0.5/day,factor=1.5,length=20m"),
    )
    assert stated.monitors == (
        parse_monitor("digest:interval=10,cost=12ms,miss=0.01,miss-divergence=0,false=0.1/day"),
    )
    hang = Stated((parse_class("hang=1d"),))
    assert together([hang, stated]).classes == (*hang.classes, *stated.classes)
    with pytest.raises(UserError, match="the class hang is there twice"):
        together([hang, hang])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hang", "write silent-corruption=30d or"),
        ("hang=", "write silent-corruption=30d or"),
        ("crash=4h", "--mtbf counts"),
        ("flood=4h", "write one of hang, coordinator-loss, straggler, divergence"),
        ("hang=4", "4 has no unit"),
        ("hang=0s", "is no rate"),
        ("hang=0/day", "is no rate"),
        ("hang=1/fortnight", "unknown unit"),
        ("hang=4h,detection", "no key with its value"),
        ("hang=4h,detection=1s,detection=2s", "there twice"),
        ("hang=4h,factor=2", "write some of every, detection, recovery"),
        ("hang=4h,detection=1e30s", "beyond any duration"),
        ("silent-corruption=4h,detection=1s", "write some of every"),
        ("straggler=4h", "factor is missing"),
        ("straggler=4h,factor=1.5", "length is missing"),
        ("straggler=4h,factor=1,length=1h", "above 1"),
        ("straggler=4h,factor=fast,length=1h", "above 1"),
        ("straggler=4h,factor=2,length=0s", "above 0s"),
    ],
)
def test_what_is_no_class_is_one_line(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as found:
        parse_class(text)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("digest", "write digest:interval=10"),
        ("digest:", "no key with its value"),
        ("Digest:cost=1s,miss=0,false=0", "small letters"),
        ("audit:cost=1s,miss=0,false=0", "watches is missing"),
        ("audit:watches=hang,cost=1s,miss=0,false=0", "cannot watch for 'hang'"),
        ("audit:watches=divergence+divergence,cost=1s,miss=0,false=0", "there twice"),
        ("audit:watches=divergence+straggler,cost=1s,miss=0,false=0", "two monitors"),
        ("digest:miss=0,false=0", "cost is missing"),
        ("digest:cost=1s,false=0", "miss is missing"),
        ("digest:cost=1s,miss=0", "false is missing"),
        ("digest:cost=1,miss=0,false=0", "has no unit"),
        ("digest:cost=1s,miss=2,false=0", "from 0 to 1"),
        ("digest:cost=1s,miss=101%,false=0", "from 0 to 1"),
        ("digest:cost=1s,miss=often,false=0", "not a percentage"),
        ("digest:cost=1s,miss=0,false=often", "no rate of false alarms"),
        ("digest:cost=1s,miss=0,false=1e9/s", "beyond any rate"),
        ("digest:cost=1s,miss=0,false=0,interval=0", "not an interval"),
        ("digest:cost=1s,miss=0,false=0,interval=1.5", "not an interval"),
        ("digest:cost=1s,miss=0,false=0,pace=1", "there is no 'pace'"),
        ("stragglers:cost=1s,miss=0,false=0,miss-hang=1", "there is no 'miss-hang'"),
    ],
)
def test_what_is_no_monitor_is_one_line(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as found:
        parse_monitor(text)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff", "not TOML"),
        (b"a = ", "not TOML"),
        (b"[faults.hang]\nevery = '1d'", "no table 'faults'"),
        (b"class = 3", "class is no table"),
        (b"[class]\nhang = '1d'", "class.hang is no table"),
        (b"[class.hang]\nevery = true", "neither a text nor a number"),
        (b"[class.hang]\nevery = 30", "30 has no unit"),
        (b"[class.hang]\ndetection = '1s'", "every is missing"),
        (b"#" * 100_001, "larger than 100,000 bytes"),
    ],
)
def test_what_is_no_file_of_failures_is_one_line(content: bytes, said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_stated(content)


def test_too_many_monitors_are_refused() -> None:
    names = [f"m{n}" for n in range(6)]
    monitors = tuple(Monitor(name, 0.0, {FailureClass.DIVERGENCE: 0.0}) for name in names)
    with pytest.raises(UserError, match="at most 5"):
        Stated((), monitors)


def test_the_first_monitor_that_sees_a_failure_notices_it() -> None:
    kind = FailureClass.DIVERGENCE
    monitors = [
        Monitor("a", 0.0, {kind: 0.5}),
        Monitor("b", 0.0, {FailureClass.SILENT_CORRUPTION: 0.0}),
        Monitor("c", 0.0, {kind: 0.2}),
    ]
    assert first_noticed(kind, monitors) == pytest.approx((0.5, 0.0, 0.4))
    assert missed_share(kind, monitors) == pytest.approx(0.1)
    rate = ClassRate(kind, 1000.0)
    assert float(wrong_probability([rate], monitors, 0.0)) == 0.0
    small = float(wrong_probability([rate], monitors, 1e-3))
    assert small == pytest.approx(1e-3 / 1000.0 * 0.1, rel=1e-6)
    assert float(wrong_probability([rate], [], 1e9)) == 1.0
