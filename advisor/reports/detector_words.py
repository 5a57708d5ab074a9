"""What `advisor detectors` says, in words."""

from advisor.detectors import Detector
from advisor.units import format_duration, format_percent

HEADER = (
    *("cluster", "monitor", "on", "every", "cost", "of a step", "noticed", "missed", "after"),
    *("right rank", "false alarms", "runs"),
)
NUMERIC = tuple(range(3, len(HEADER)))
FIELDS = (
    *("cluster", "architecture", "workload", "world_size", "monitor", "interval_steps", "runs"),
    *("checks", "s_per_step", "waited_s_per_step", "overhead_fraction", "struck", "noticed"),
    *("missed", "missed_low", "missed_high", "right_rank", "false_alarms", "false_low"),
    *("false_high", "after_s", "after_steps", "most_after_steps"),
)
NOTES = (
    "cost: of a step, in the mean of all; noticed: of the faults that the monitor is there to see;"
    " missed, false alarms: at most, 95 %;",
    "after: steps from the fault, mean and most; right rank: how often the victim alone was named",
)


def row(each: Detector) -> tuple[str, ...]:
    """A line of the table."""
    found = each.row
    return (
        found.cluster,
        found.monitor,
        found.architecture,
        f"{found.interval_steps} steps",
        "" if found.s_per_step is None else format_duration(found.s_per_step),
        "" if found.overhead_fraction is None else format_percent(found.overhead_fraction),
        f"{found.noticed} of {found.struck}" if found.struck else "",
        "" if each.missed_high is None else format_percent(each.missed_high),
        _after(each),
        f"{found.right_rank} of {found.noticed}" if found.noticed else "",
        _alarms(each),
        str(found.runs),
    )


def _after(each: Detector) -> str:
    mean, most = each.row.after_steps, each.row.most_after_steps
    return "" if mean is None else f"{mean:.3g}, {most}"


def _alarms(each: Detector) -> str:
    if each.false_high is None:
        return ""
    said = f"{each.row.false_alarms} in {each.row.checks} checks"
    return f"{said}, {format_percent(each.false_high)}"
