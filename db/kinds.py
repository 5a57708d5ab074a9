"""Every kind of row that can be loaded: its file, its columns and their units, in load order.

A file speaks in the units of the paper (MB = 10^6 bytes, GB = 10^9 bytes, ms, percent), a table
in bytes, seconds and fractions. All factors are powers of ten, so decimal arithmetic converts
without losing a digit, there and back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sqlalchemy import Integer, Table

from db import rows
from db.models import Base
from db.records import CalibrationQuantity, Quantity

MEGA = 6
GIGA = 9
MILLI = -3
PERCENT = -2


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file: the field that it fills, and the power of ten between their units."""

    field: str
    exponent: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of row. `optional` columns may be absent from a file and then stay as they are.
    What `decided_here` names, a file fills in for new rows only: of a row that is there, what is
    stored stays.

    `is_catalogue`: what the program says of itself, and no measurement. A bundle brings it to a
    database that lacks it, and changes nothing of it, since a bundle may be older than the program.
    """

    name: str
    table: str
    model: type[rows.Row]
    renamed: Mapping[str, Column] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    decided_here: tuple[str, ...] = ()
    is_catalogue: bool = False

    @property
    def file(self) -> str:
        """The kind's file in a data folder."""
        return f"{self.name}.csv"

    @property
    def columns(self) -> dict[str, Column]:
        """Every column of the file, in the order of the model's fields."""
        by_field = {column.field: (name, column) for name, column in self.renamed.items()}
        return dict(by_field.get(name, (name, Column(name))) for name in self.model.model_fields)

    @property
    def key(self) -> tuple[str, ...]:
        """The fields that tell rows of this kind apart."""
        primary = [column.name for column in self.sql_table.primary_key]
        return tuple(name for name in primary if name not in self.constants)

    @property
    def sql_table(self) -> Table:
        """The table that holds the rows."""
        return Base.metadata.tables[self.table]


def _value(name: str, quantity: Quantity, stem: str, unit: str, model: Any, exponent: int) -> Kind:
    """A file of one quantity: <stem>_<unit>, dispersion_<unit>, low_<unit> and high_<unit>."""
    renamed = {
        f"{prefix}_{unit}": Column(field_name, exponent)
        for prefix, field_name in (
            (stem, "value"),
            ("dispersion", "dispersion"),
            ("low", "low"),
            ("high", "high"),
        )
    }
    renamed["provenance"] = Column("evidence")
    constants = {"quantity": str(quantity)}
    return Kind(name, "operating_point_values", rows.ValueRow[model], renamed, constants)


_PER_RANK = "samples_per_s_per_rank"
_CLUSTER = {
    "device_memory_gb": Column("device_memory_bytes", GIGA),
    "host_memory_gb": Column("host_memory_bytes", GIGA),
}
_PROVENANCE = {"provenance": Column("evidence")}

KINDS = (
    Kind("sources", "sources", rows.SourceRow),
    Kind("clusters", "clusters", rows.ClusterRow, _CLUSTER),
    Kind(
        "software_stacks",
        "software_stacks",
        rows.SoftwareStackRow,
        optional=("superseded_by",),
        decided_here=("superseded_by",),
    ),
    Kind("architectures", "architectures", rows.ArchitectureRow, is_catalogue=True),
    Kind("mechanisms", "mechanisms", rows.MechanismRow, is_catalogue=True),
    Kind("compatibility", "compatibility", rows.CompatibilityRow, is_catalogue=True),
    Kind("workloads", "workloads", rows.WorkloadRow),
    Kind(
        "calibrations",
        "calibrations",
        rows.CalibrationRow,
        {"size_mb": Column("size_bytes", MEGA), **_PROVENANCE},
    ),
    Kind("calibration_sessions", "calibration_sessions", rows.CalibrationSessionRow),
    Kind("calibration_samples", "calibration_samples", rows.CalibrationSampleRow),
    Kind("calibration_fits", "calibration_fits", rows.CalibrationFitRow),
    Kind("calibration_checks", "calibration_checks", rows.CalibrationCheckRow),
    Kind(
        "operating_points",
        "operating_points",
        rows.OperatingPointRow,
        {"state_mb": Column("state_bytes", MEGA)},
    ),
    _value("overheads", Quantity.OVERHEAD, "overhead", "percent", rows.OverheadPercent, PERCENT),
    _value("saves", Quantity.SAVE, "save", "ms", rows.FromZero, MILLI),
    _value("restores", Quantity.RESTORE, "restore", "ms", rows.FromZero, MILLI),
    _value(
        "effective_restores",
        Quantity.EFFECTIVE_RESTORE,
        "effective_restore",
        "ms",
        rows.FromZero,
        MILLI,
    ),
    _value("lost_work", Quantity.LOST_STEPS, "lost", "steps", rows.FromZero, 0),
    _value("throughputs", Quantity.THROUGHPUT, "throughput", _PER_RANK, rows.FromZero, 0),
    _value(
        "post_failure_throughputs",
        Quantity.POST_FAILURE_THROUGHPUT,
        "throughput",
        _PER_RANK,
        rows.FromZero,
        0,
    ),
    _value(
        "aggregate_slowdowns",
        Quantity.AGGREGATE_SLOWDOWN,
        "slowdown",
        "percent",
        rows.SlowdownPercent,
        PERCENT,
    ),
    _value("detections", Quantity.DETECTION, "detection", "s", rows.FromZero, 0),
    _value("recoveries", Quantity.RECOVERY, "recovery", "ms", rows.FromZero, MILLI),
    _value("resumed_runs", Quantity.RESUMED, "resumed", "percent", rows.SharePercent, PERCENT),
    Kind("validations", "validations", rows.ValidationRow),
    Kind("validation_runs", "validation_runs", rows.ValidationRunRow),
    Kind("text_values", "text_values", rows.TextValueRow, _PROVENANCE),
    Kind("coverage_counts", "published_counts", rows.PublishedCountRow),
    Kind(
        "decision_framework",
        "published_selections",
        rows.PublishedSelectionRow,
        {"row": Column("row_id")},
    ),
)
BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}

# The unit that a calibration names: power of ten to our unit, and the table's quantity.
_CALIBRATIONS = {
    "duration": ("ms", MILLI, CalibrationQuantity.DURATION),
    "bandwidth": ("GB/s", GIGA, CalibrationQuantity.BANDWIDTH),
}
_CALIBRATED = ("value", "dispersion", "low", "high")


def to_table(kind: Kind, row: rows.Row) -> dict[str, Any]:
    """The row in the table's columns and units (`capabilities` as a sorted tuple of words).

    Raises ValueError if a size is not a whole number of bytes.
    """
    values: dict[str, Any] = dict(kind.constants)
    exponents = _exponents(kind, getattr(row, "quantity", None))
    for name in type(row).model_fields:
        values[name] = _to_table(kind.sql_table, name, getattr(row, name), exponents.get(name, 0))
    if kind.name == "calibrations":
        values["quantity"] = str(_CALIBRATIONS[values["quantity"]][2])
        del values["unit"]
    if kind.name == "architectures":
        values["capabilities"] = tuple(sorted(set(values["capabilities"].split())))
    return values


def from_table(kind: Kind, values: Mapping[str, Any]) -> dict[str, Any]:
    """The reverse of `to_table`, with the file's columns as keys, and exact decimal numbers."""
    values = dict(values)
    if kind.name == "calibrations":
        values["quantity"], values["unit"] = _calibration_words(values["quantity"])
    if kind.name == "architectures":
        values["capabilities"] = " ".join(values["capabilities"])
    exponents = _exponents(kind, values.get("quantity"))
    return {
        name: _from_table(values[column.field], exponents.get(column.field, 0))
        for name, column in kind.columns.items()
    }


def _exponents(kind: Kind, quantity: str | None) -> dict[str, int]:
    exponents = {column.field: column.exponent for column in kind.columns.values()}
    if kind.name == "calibrations" and quantity is not None:
        exponents.update(dict.fromkeys(_CALIBRATED, _CALIBRATIONS[quantity][1]))
    return exponents


def _calibration_words(quantity: str) -> tuple[str, str]:
    for word, (unit, _, stored) in _CALIBRATIONS.items():
        if stored == quantity:
            return word, unit
    raise AssertionError(f"the schema admits no calibration of {quantity!r}")


def _to_table(table: Table, name: str, value: Any, exponent: int) -> Any:
    if isinstance(value, StrEnum):
        return str(value)
    if not isinstance(value, Decimal):
        return value
    scaled = value.scaleb(exponent)
    if not isinstance(table.c[name].type, Integer):
        return float(scaled)
    if scaled != scaled.to_integral_value() or scaled >= 2**63:
        raise ValueError(f"{value} is not a whole number of bytes that a database can hold")
    return int(scaled)


def _from_table(value: Any, exponent: int) -> Any:
    # repr of a float is the shortest decimal that reads back as the same float.
    if isinstance(value, float) or (isinstance(value, int) and exponent):
        return Decimal(repr(value)).scaleb(-exponent).normalize()
    return value
