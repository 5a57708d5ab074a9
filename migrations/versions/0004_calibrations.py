"""Calibrations of our own: sessions, samples, fits with their intervals, and checks of them.

Revision: 0004
Follows: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# SQLite's STRICT tables know INTEGER, REAL and TEXT only; PostgreSQL's REAL has but 4 bytes.
INT64 = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL64: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")

PATHS = (
    *("storage_write", "storage_read", "host_copy", "host_to_device", "device_to_host", "peer"),
    *("serialise", "deserialise", "verify", "group_formation", "process_start"),
    *("restore_storage", "restore_own", "restore_peer"),
)

CALIBRATION_FIT_VIEW = """
SELECT
  s.cluster,
  f.path,
  f.processes,
  f.model,
  f.n,
  f.outliers,
  f.spread_fraction,
  f.latency_s,
  f.latency_s_low,
  f.latency_s_high,
  CASE WHEN f.s_per_byte > 0 THEN 1.0 / f.s_per_byte END AS bytes_per_s,
  CASE WHEN f.s_per_byte_high > 0 THEN 1.0 / f.s_per_byte_high END AS bytes_per_s_low,
  CASE WHEN f.s_per_byte_low > 0 THEN 1.0 / f.s_per_byte_low END AS bytes_per_s_high,
  f.s_per_rank,
  f.s_per_rank_low,
  f.s_per_rank_high,
  f.smallest_bytes,
  f.largest_bytes,
  f.conditions,
  CASE WHEN EXISTS (
    SELECT 1
    FROM calibration_fits g
    JOIN calibration_sessions t ON t.session = g.session
    WHERE t.cluster = s.cluster AND g.path = f.path AND g.processes = f.processes
      AND (t.started_at > s.started_at
        OR (t.started_at = s.started_at AND t.session > s.session))
  ) THEN 0 ELSE 1 END AS is_newest,
  s.started_at,
  s.software_stack,
  s.source_id,
  f.session
FROM calibration_fits f
JOIN calibration_sessions s ON s.session = f.session
"""

CALIBRATION_CHECK_VIEW = """
SELECT
  t.cluster,
  s.path,
  s.size_bytes,
  s.processes,
  s.duration_s AS measured_s,
  c.predicted_s,
  c.predicted_s / s.duration_s - 1 AS error_fraction,
  c.conditions,
  t.started_at,
  c.session,
  c.ordinal
FROM calibration_checks c
JOIN calibration_samples s ON s.session = c.session AND s.ordinal = c.ordinal
JOIN calibration_sessions t ON t.session = c.session
"""


def create_sessions() -> None:
    table = "calibration_sessions"
    op.create_table(
        table,
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("software_stack", sa.Text()),
        sa.Column("source_id", sa.Text()),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("seed", INT64, nullable=False),
        sa.Column("is_quick", INT64, nullable=False),
        sa.Column("started_at", sa.Text(), nullable=False),
        sa.Column("wall_s", REAL64, nullable=False),
        sa.Column("environment", sa.Text(), nullable=False),
        sa.Column("record_sha256", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        *(
            check(table, f"{name}_filled", f"{name} <> ''")
            for name in ("session", "command", "environment")
        ),
        check(table, "seed_at_least_0", "seed >= 0"),
        check(table, "is_quick_flag", "is_quick IN (0, 1)"),
        check(table, "started_at_utc", "started_at LIKE '____-__-__T__:__:__Z'"),
        from_zero(table, "wall_s"),
        check(table, "record_sha256_length", "length(record_sha256) = 64"),
        refers(table, "cluster", "clusters"),
        refers(table, "software_stack", "software_stacks"),
        refers(table, "source_id", "sources"),
        sa.PrimaryKeyConstraint("session", name=op.f(f"pk_{table}")),
        sa.UniqueConstraint("record_sha256", name=op.f(f"uq_{table}_record_sha256")),
        sqlite_strict=True,
    )
    op.create_index(op.f(f"ix_{table}_cluster"), table, ["cluster"])


def create_samples() -> None:
    table = "calibration_samples"
    op.create_table(
        table,
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("ordinal", INT64, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("size_bytes", INT64),
        sa.Column("processes", INT64, nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("duration_s", REAL64, nullable=False),
        check(table, "ordinal_at_least_0", "ordinal >= 0"),
        check(table, "path_known", listed("path", PATHS)),
        check(table, "size_bytes_at_least_1", "size_bytes >= 1"),
        check(
            table,
            "moved_has_size",
            "(path IN ('group_formation', 'process_start')) = (size_bytes IS NULL)",
        ),
        check(table, "processes_at_least_1", "processes >= 1"),
        check(table, "purpose_known", "purpose IN ('fit', 'check')"),
        check(table, "duration_s_positive", "duration_s > 0 AND duration_s <= '1.7e308'"),
        refers(table, "session", "calibration_sessions"),
        sa.PrimaryKeyConstraint("session", "ordinal", name=op.f(f"pk_{table}")),
        sqlite_strict=True,
    )


def create_fits() -> None:
    table = "calibration_fits"
    op.create_table(
        table,
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("processes", INT64, nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("n", INT64, nullable=False),
        sa.Column("outliers", INT64, nullable=False),
        sa.Column("spread_fraction", REAL64, nullable=False),
        *(sa.Column(f"latency_s{end}", REAL64, nullable=False) for end in ENDS),
        *(sa.Column(f"s_per_byte{end}", REAL64) for end in ENDS),
        *(sa.Column(f"s_per_rank{end}", REAL64) for end in ENDS),
        sa.Column("smallest_bytes", INT64),
        sa.Column("largest_bytes", INT64),
        sa.Column("conditions", sa.Text(), server_default="", nullable=False),
        check(table, "path_known", listed("path", PATHS)),
        check(table, "processes_at_least_0", "processes >= 0"),
        check(table, "model_known", "model IN ('bytes', 'ranks', 'mean')"),
        check(table, "n_at_least_2", "n >= 2"),
        check(table, "outliers_at_least_0", "outliers >= 0"),
        from_zero(table, "spread_fraction"),
        *interval(table, "latency_s"),
        *interval(table, "s_per_byte"),
        *interval(table, "s_per_rank"),
        all_or_none(table, "s_per_byte"),
        all_or_none(table, "s_per_rank"),
        check(table, "bytes_model", "(model = 'bytes') = (s_per_byte IS NOT NULL)"),
        check(table, "ranks_model", "(model = 'ranks') = (s_per_rank IS NOT NULL)"),
        check(table, "bytes_has_sizes", "(model = 'bytes') = (smallest_bytes IS NOT NULL)"),
        check(table, "sizes_in_order", "smallest_bytes <= largest_bytes"),
        check(table, "sizes_whole", "(smallest_bytes IS NULL) = (largest_bytes IS NULL)"),
        check(table, "smallest_bytes_at_least_1", "smallest_bytes >= 1"),
        refers(table, "session", "calibration_sessions"),
        sa.PrimaryKeyConstraint("session", "path", "processes", name=op.f(f"pk_{table}")),
        sqlite_strict=True,
    )


def create_checks() -> None:
    table = "calibration_checks"
    op.create_table(
        table,
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("ordinal", INT64, nullable=False),
        sa.Column("predicted_s", REAL64, nullable=False),
        sa.Column("conditions", sa.Text(), server_default="", nullable=False),
        check(table, "predicted_s_positive", "predicted_s > 0 AND predicted_s <= '1.7e308'"),
        sa.ForeignKeyConstraint(
            ["session", "ordinal"],
            ["calibration_samples.session", "calibration_samples.ordinal"],
            name=op.f(f"fk_{table}_session"),
        ),
        sa.PrimaryKeyConstraint("session", "ordinal", name=op.f(f"pk_{table}")),
        sqlite_strict=True,
    )


def upgrade() -> None:
    """What this program calibrates has tables of its own; published ones stay as they are."""
    create_sessions()
    create_samples()
    create_fits()
    create_checks()
    op.execute(f"CREATE VIEW calibration_fit_view AS {CALIBRATION_FIT_VIEW}")
    op.execute(f"CREATE VIEW calibration_check_view AS {CALIBRATION_CHECK_VIEW}")


def downgrade() -> None:
    """The calibrations that this program made are lost."""
    op.execute("DROP VIEW calibration_check_view")
    op.execute("DROP VIEW calibration_fit_view")
    for table in ("checks", "fits", "samples"):
        op.drop_table(f"calibration_{table}")
    op.drop_index(op.f("ix_calibration_sessions_cluster"), "calibration_sessions")
    op.drop_table("calibration_sessions")


ENDS = ("", "_low", "_high")


def listed(column: str, codes: tuple[str, ...]) -> str:
    return f"{column} IN (" + ", ".join(f"'{code}'" for code in codes) + ")"


def check(table: str, name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{table}_{name}"))


def from_zero(table: str, column: str) -> sa.CheckConstraint:
    return check(table, f"{column}_from_zero", f"{column} BETWEEN 0 AND '1.7e308'")


def interval(table: str, name: str) -> list[sa.CheckConstraint]:
    low, high = f"{name}_low", f"{name}_high"
    return [
        *(from_zero(table, column) for column in (name, low, high)),
        check(table, f"{name}_inside", f"{low} <= {name} AND {name} <= {high}"),
    ]


def all_or_none(table: str, name: str) -> sa.CheckConstraint:
    low, high = f"{name}_low", f"{name}_high"
    condition = f"({name} IS NULL) = ({low} IS NULL OR {high} IS NULL)"
    return check(table, f"{name}_whole", condition)


def refers(table: str, column: str, other: str) -> sa.ForeignKeyConstraint:
    key = {"clusters": "cluster", "software_stacks": "software_stack", "sources": "source_id"}
    return sa.ForeignKeyConstraint(
        [column], [f"{other}.{key.get(other, column)}"], name=op.f(f"fk_{table}_{column}")
    )
