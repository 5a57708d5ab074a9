"""Loading: units without losing a digit, all or nothing, and every mistake in words."""

import csv
import json
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from db import files
from db.bundle_schema import bundle_schema
from db.errors import InvalidDataError, NotFoundError, SchemaMismatchError
from db.export import export
from db.files import FORMAT, VERSION, bundle_rows, bundle_text, write_bundle
from db.kinds import BY_NAME, KINDS, from_table, to_table
from db.load import load, load_rows
from db.models import Base
from db.queries import cluster_evidence
from db.records import ClusterEvidence
from db.resources import resource_dir
from db.session import open_engine, reading, writing
from db.stack_store import reinstate
from tests.db.good_rows import GOOD

CLUSTER = "matilda-8xv100"
MEASURED = sorted(path.stem for path in (resource_dir("data") / "clusters").glob("*.json"))

# A small data folder: what each test below breaks in one place.
TINY: dict[str, list[dict[str, str]]] = {
    "sources": [{"source_id": "me", "citation": "Measured by me"}],
    "clusters": [
        {"cluster": "tiny", "nodes": "2", "ranks_per_node": "4", "device_memory_gb": "16"},
    ],
    "software_stacks": [{"software_stack": "old", "cluster": "tiny", "torch": "2.3.0"}],
    "architectures": [
        {"architecture": "ring", "name": "Ring", "capabilities": "full_rank_group other"}
    ],
    "mechanisms": [
        {
            "mechanism": "disk",
            "name": "Disk",
            "cadence": "periodic",
            "save_path": "storage_write",
            "persist_path": "none",
            "restore_path": "storage_read",
            "default_replicas": "0",
            "host_copies_per_replica": "0",
            "device_copies_per_replica": "0",
        }
    ],
    "compatibility": [{"architecture": "ring", "mechanism": "disk", "status": "viable"}],
    "workloads": [{"workload": "small", "name": "Small", "batch_per_rank": "32"}],
    "calibrations": [
        {
            "calibration_id": "read",
            "cluster": "tiny",
            "path": "storage_read",
            "quantity": "duration",
            "size_mb": "204.7",
            "value": "340.2",
            "unit": "ms",
            "n": "10",
            "dispersion": "5.2",
            "dispersion_kind": "ci95_half_width",
            "provenance": "measured",
            "source_id": "me",
        },
        {
            "calibration_id": "bandwidth",
            "cluster": "tiny",
            "path": "storage_write",
            "quantity": "bandwidth",
            "value": "1.37",
            "unit": "GB/s",
            "provenance": "derived",
            "source_id": "me",
        },
    ],
    "operating_points": [
        {
            "point_id": "p",
            "cluster": "tiny",
            "software_stack": "old",
            "architecture": "ring",
            "mechanism": "disk",
            "workload": "small",
            "state_mb": "204.7",
            "interval_steps": "100",
            "outcome": "complete",
        }
    ],
    "overheads": [
        {
            "point_id": "p",
            "overhead_percent": "0.48",
            "n": "3",
            "dispersion_percent": "0.03",
            "dispersion_kind": "half_range",
            "provenance": "measured",
            "source_id": "me",
        }
    ],
    "recoveries": [
        {"point_id": "p", "missing_reason": "infinite", "provenance": "measured", "n": "2"}
    ],
}


def write_folder(folder: Path, data: dict[str, list[dict[str, str]]]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in data.items():
        kind = BY_NAME[name]
        with (folder / kind.file).open("w", newline="") as file:
            writer = csv.DictWriter(file, [c for c in kind.columns if c not in kind.optional])
            writer.writeheader()
            writer.writerows(rows)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "data", TINY)


def rows(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    engine = open_engine(url)
    with reading(engine) as connection:
        found = {
            name: sorted(map(tuple, connection.execute(table.select()).all()), key=repr)
            for name, table in Base.metadata.tables.items()
        }
    engine.dispose()
    return found


def evidence(url: str, cluster: str) -> ClusterEvidence:
    engine = open_engine(url)
    with reading(engine) as connection:
        found = cluster_evidence(connection, cluster)
    engine.dispose()
    return found


def test_units_convert_without_losing_a_digit(database_url: str, folder: Path) -> None:
    load(database_url, folder)
    found = rows(database_url)
    assert found["operating_points"][0][6] == 204_700_000
    assert found["operating_point_values"][0][4:8] == (0.0048, None, 3, 0.0003)
    assert found["operating_point_values"][1][4:6] == (None, "infinite")
    by_id = {row[0]: row for row in found["calibrations"]}
    assert by_id["read"][3:5] == ("duration_s", 204_700_000)
    assert by_id["read"][7] == 0.3402
    assert by_id["bandwidth"][3] == "bandwidth_bytes_per_s"
    assert by_id["bandwidth"][7] == 1_370_000_000.0
    assert found["clusters"][0][5] == 16_000_000_000
    assert {row[1] for row in found["architecture_capabilities"]} == {"full_rank_group", "other"}


def test_loading_twice_changes_nothing_and_says_so(database_url: str, folder: Path) -> None:
    first = load(database_url, folder)
    before = rows(database_url)
    assert first.changed
    assert first.kinds["calibrations"].added == 2
    second = load(database_url, folder)
    assert not second.changed
    assert second.kinds["calibrations"].unchanged == 2
    assert rows(database_url) == before


def test_a_changed_row_is_updated_and_others_stay(database_url: str, folder: Path) -> None:
    load(database_url, folder)
    changed = {
        "architectures": [{"architecture": "ring", "name": "Ring", "capabilities": "new"}],
        "overheads": [{**TINY["overheads"][0], "overhead_percent": "0.5"}],
    }
    report = load(database_url, write_folder(folder.parent / "newer", changed))
    assert report.kinds["overheads"].updated == 1
    assert report.kinds["architectures"].updated == 1
    found = rows(database_url)
    assert found["operating_point_values"][0][4] == 0.005
    assert found["architecture_capabilities"] == [("ring", "new")]
    assert len(found["operating_point_values"]) == 2


def test_a_column_that_a_file_lacks_stays_as_it_is(database_url: str, folder: Path) -> None:
    load(database_url, folder)
    engine = open_engine(database_url)
    stack = {**GOOD["software_stacks"], "software_stack": "new", "source_id": None}
    with writing(engine) as connection:
        connection.execute(Base.metadata.tables["software_stacks"].insert(), stack)
        connection.exec_driver_sql(
            "UPDATE software_stacks SET superseded_by = 'new' WHERE software_stack = 'old'"
        )
    engine.dispose()
    assert not load(database_url, folder).changed


def test_two_stacks_may_arrive_in_any_order(database_url: str, folder: Path) -> None:
    bundle = bundle_of(
        software_stacks=[
            {"software_stack": "old", "cluster": "tiny", "superseded_by": "new"},
            {"software_stack": "new", "cluster": "tiny"},
        ]
    )
    load(database_url, folder)
    assert load_rows(database_url, bundle_rows(bundle, "b")).kinds["software_stacks"].added == 1


def stacks_of(mark: str | None) -> dict[str, Any]:
    return bundle_of(
        software_stacks=[
            {"software_stack": "first", "cluster": "tiny", "superseded_by": mark},
            {"software_stack": "second", "cluster": "tiny", "superseded_by": None},
        ]
    )


def test_a_mark_of_a_row_that_is_there_is_not_taken_from_a_file(
    database_url: str, folder: Path
) -> None:
    """Neither put on nor taken off: whoever has the database decided it."""
    load(database_url, folder)
    load_rows(database_url, bundle_rows(stacks_of("second"), "b"))
    mark = "SELECT superseded_by FROM software_stacks WHERE software_stack = 'first'"
    engine = open_engine(database_url)

    def marked() -> str | None:
        with reading(engine) as connection:
            found: str | None = connection.exec_driver_sql(mark).scalar_one()
        return found

    assert marked() == "second"
    for in_file in (None, "second"):
        assert not load_rows(database_url, bundle_rows(stacks_of(in_file), "b")).changed
        assert marked() == "second"
    assert reinstate(engine, "first") == "second"
    for in_file in (None, "second"):
        assert not load_rows(database_url, bundle_rows(stacks_of(in_file), "b")).changed
        assert marked() is None
    engine.dispose()


def test_the_rest_of_a_marked_row_is_updated(database_url: str, folder: Path) -> None:
    load(database_url, folder)
    bundle = stacks_of("second")
    load_rows(database_url, bundle_rows(bundle, "b"))
    bundle["kinds"]["software_stacks"][0].update(torch="2.9.0", superseded_by=None)
    report = load_rows(database_url, bundle_rows(bundle, "b"))
    assert report.kinds["software_stacks"].updated == 1
    (row,) = [row for row in rows(database_url)["software_stacks"] if row[0] == "first"]
    assert "2.9.0" in row
    assert "second" in row


def test_the_shipped_data_loads_on_both(shipped_url: str) -> None:
    assert not load(shipped_url).changed
    assert evidence(shipped_url, CLUSTER).points


Change = Callable[[dict[str, list[dict[str, str]]]], None]


def cell(kind: str, column: str, value: str) -> Change:
    def change(data: dict[str, list[dict[str, str]]]) -> None:
        data[kind][0][column] = value

    return change


def again(kind: str) -> Change:
    return lambda data: data[kind].append(dict(data[kind][0]))


BAD: list[tuple[Change, list[str]]] = [
    (
        cell("overheads", "overhead_percent", "fast"),
        ["overheads.csv row 2, column overhead_percent", "valid decimal", "'fast'"],
    ),
    (cell("overheads", "overhead_percent", "nan"), ["overhead_percent", "finite", "'nan'"]),
    (cell("overheads", "overhead_percent", "inf"), ["overhead_percent", "finite", "'inf'"]),
    (cell("overheads", "overhead_percent", "1e999999999"), ["overhead_percent", "less than"]),
    (cell("overheads", "overhead_percent", "-100"), ["greater than -100"]),
    (cell("overheads", "overhead_percent", ""), ["either a value or a missing_reason"]),
    (cell("overheads", "missing_reason", "infinite"), ["either a value or a missing_reason"]),
    (cell("overheads", "missing_reason", "lost"), ["'infinite', 'not_run'", "not 'lost'"]),
    (cell("overheads", "n", ""), ["a number that is measured needs n >= 1"]),
    (cell("overheads", "n", "0"), ["needs n >= 1"]),
    (cell("overheads", "n", "-1"), ["column n", "greater than or equal to 0", "'-1'"]),
    (cell("overheads", "n", "2.5"), ["column n", "integer"]),
    (cell("overheads", "n", "9" * 30), ["column n"]),
    (cell("overheads", "source_id", ""), ["a number needs a source_id"]),
    (cell("overheads", "source_id", "you"), ["column source_id: no such row 'you'; there is me"]),
    (cell("overheads", "point_id", "q"), ["column point_id: no such row 'q'; there is p"]),
    (cell("overheads", "provenance", "heard"), ["column provenance", "'measured'", "'heard'"]),
    (cell("overheads", "provenance", ""), ["column provenance: is empty, but needed"]),
    (cell("overheads", "dispersion_kind", ""), ["need a dispersion_kind"]),
    (cell("overheads", "low_percent", "1"), ["low and high go together"]),
    (cell("overheads", "dispersion_percent", "-1"), ["dispersion_percent", "equal to 0"]),
    (cell("operating_points", "state_mb", "0.0000001"), ["not a whole number of bytes"]),
    (cell("operating_points", "state_mb", "1e200"), ["not a whole number of bytes"]),
    (cell("operating_points", "state_mb", "-1"), ["state_mb", "greater than 0"]),
    (cell("operating_points", "lead_s", "-2"), ["lead_s"]),
    (cell("operating_points", "outcome", "fine"), ["'complete', 'deadlock'", "'fine'"]),
    (cell("operating_points", "cluster", "moon"), ["no such row 'moon'; there is tiny"]),
    (cell("calibrations", "unit", "GB/s"), ["a duration has the unit ms"]),
    (cell("calibrations", "size_mb", ""), ["a duration needs a size_mb"]),
    (cell("calibrations", "value", "0"), ["value", "greater than 0"]),
    (cell("compatibility", "status", "infeasible"), ["infeasible needs a reason"]),
    (cell("clusters", "nodes", "0"), ["column nodes", "greater than or equal to 1"]),
    (cell("clusters", "cluster", "two words"), ["column cluster", "'two words'"]),
    (cell("clusters", "description", "a\x07b"), ["description", "control character"]),
    (cell("clusters", "description", "x" * 5000), ["description", "at most 4000"]),
    (cell("sources", "published_on", "soon"), ["published_on", "'soon'"]),
    (again("sources"), ["sources.csv row 3: me is already in sources.csv row 2"]),
    (again("compatibility"), ["compatibility.csv row 3: ring/disk is already"]),
    (again("overheads"), ["overheads.csv row 3: p is already in overheads.csv row 2"]),
]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("change", "says"), BAD)
def test_a_bad_row_loads_nothing_and_is_named(
    database_url: str, tmp_path: Path, change: Change, says: list[str]
) -> None:
    data = {name: [dict(row) for row in rows] for name, rows in TINY.items()}
    change(data)
    message = refusal(database_url, write_folder(tmp_path / "data", data))
    assert [part for part in says if part not in message] == []
    assert not any(rows(database_url).values())


def refusal(url: str, path: Path) -> str:
    with pytest.raises(InvalidDataError) as caught:
        load(url, path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_problem_is_named_at_once(database_url: str, tmp_path: Path) -> None:
    data = {name: [dict(row) for row in rows] for name, rows in TINY.items()}
    data["clusters"][0] |= {"nodes": "none", "ranks_per_node": ""}
    data["sources"] = [{"source_id": f"s{i}", "citation": ""} for i in range(40)]
    folder = write_folder(tmp_path / "data", data)
    with pytest.raises(InvalidDataError) as caught:
        load(database_url, folder)
    assert len(caught.value.problems) == 42
    assert "42 problems" in str(caught.value)
    assert "and 22 more" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "missing column 'source_id'"),
        ("source_id,citation,url\n", "missing column 'published_on'"),
        ("source_id,citation,url,published_on,mood\n", "unknown column 'mood'"),
        ("source_id,citation,url,published_on,url\n", "column 'url' twice"),
        ("source_id,citation,url,published_on\nme,x\n", "row 2: 2 cells, the header has 4"),
        ('source_id,citation,url,published_on\nme,"x,,\n', "not a CSV file"),
        ("source_id,citation,url,published_on\nme,\ud800,,\n", "not UTF-8"),
        ("\x00\x01", "unknown column"),
    ],
)
def test_a_file_that_is_no_table(sqlite_file: Path, folder: Path, content: str, says: str) -> None:
    (folder / "sources.csv").write_bytes(content.encode(errors="surrogatepass"))
    assert says in refusal(str(sqlite_file), folder)


def test_an_unknown_file_is_refused_with_the_known_names(sqlite_file: Path, folder: Path) -> None:
    (folder / "overhead.csv").write_text("")
    message = refusal(str(sqlite_file), folder)
    assert "overhead.csv" in message
    assert "overheads.csv" in message


def test_a_folder_without_files_and_a_missing_path(sqlite_file: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "no CSV files" in refusal(str(sqlite_file), tmp_path / "empty")
    assert "neither a folder" in refusal(str(sqlite_file), tmp_path / "none")
    assert "neither a folder" in refusal(str(sqlite_file), Path("/dev/zero"))


def test_a_huge_file_is_refused(
    sqlite_file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST_FILE_BYTES", 10)
    assert "larger than" in refusal(str(sqlite_file), folder)


def test_a_byte_order_mark_and_windows_line_ends_are_fine(database_url: str, folder: Path) -> None:
    for file in folder.iterdir():
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert load(database_url, folder).changed


def test_a_database_with_another_schema_is_refused(database_url: str, folder: Path) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    engine.dispose()
    with pytest.raises(SchemaMismatchError):
        load(database_url, folder)


def test_what_the_database_alone_refuses_is_one_line(
    database_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.load._dangling", lambda *_: ())
    (folder / "clusters.csv").unlink()
    assert "the database refuses a row" in refusal(database_url, folder)
    assert not any(rows(database_url).values())


def bundle_of(**kinds: Any) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "kinds": kinds}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("[]", "its format is not"),
        ("{}", "its format is not"),
        ('{"format": "failbench-advisor-cluster", "version": 1}', "has version 1, known is 2"),
        (json.dumps(bundle_of(wishes=[])), "unknown kinds wishes"),
        (json.dumps(bundle_of(sources={})), "not a list of objects"),
        (json.dumps(bundle_of(sources=[1])), "not a list of objects"),
        (json.dumps(bundle_of(sources=[{"mood": 1}])), "sources row 1: unknown columns mood"),
        (json.dumps({**bundle_of(), "exported_at": "2026-11-30T07:49:14Z"}), "a bundle holds"),
        (json.dumps(bundle_of(clusters=[{"nodes": True}])), "true and false"),
        (json.dumps(bundle_of(clusters=[{"nodes": [1]}])), "column nodes"),
        (json.dumps(bundle_of(sources=[{"source_id": "\ud800"}])), "source_id"),
        (json.dumps(bundle_of(overheads=[{"overhead_percent": float("nan")}])), "NaN is not"),
        (json.dumps(bundle_of(overheads=[{"overhead_percent": float("inf")}])), "Infinity is not"),
        ('{"format": ' + "[" * 100_000, "not JSON"),
        ('{"format": ' + "9" * 10_000 + "}", "not JSON"),
    ],
)
def test_a_file_that_is_no_bundle(sqlite_file: Path, tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bundle.json"
    path.write_text(text)
    assert says in refusal(str(sqlite_file), path)


def test_export_and_load_give_equal_rows(
    shipped_url: str, sqlite_templates: dict[str, Path], tmp_path: Path
) -> None:
    path, fresh = tmp_path / "bundle.json", tmp_path / "fresh.db"
    bundle = export(shipped_url, CLUSTER)
    write_bundle(bundle, path)
    shutil.copy(sqlite_templates["schema"], fresh)
    report = load(str(fresh), path)
    assert {name: len(rows) for name, rows in bundle["kinds"].items()} == {
        name: counts.added for name, counts in report.kinds.items()
    }
    before, after = evidence(shipped_url, CLUSTER), evidence(str(fresh), CLUSTER)
    assert after.points == before.points
    assert after.calibrations == before.calibrations
    assert after.compatibility == before.compatibility
    assert after.mechanisms == before.mechanisms
    assert after.architectures == before.architectures
    assert after.cluster == before.cluster
    assert after.sources.items() <= before.sources.items()
    assert not load(shipped_url, path).changed


@pytest.mark.parametrize("cluster", [CLUSTER, *MEASURED])
def test_a_round_trip_is_equal_to_the_last_byte(
    reading_url: str, sqlite_templates: dict[str, Path], tmp_path: Path, cluster: str
) -> None:
    first, second, fresh = (tmp_path / name for name in ("1.json", "2.json", "fresh.db"))
    write_bundle(export(reading_url, cluster), first)
    shutil.copy(sqlite_templates["schema"], fresh)
    load(str(fresh), first)
    write_bundle(export(str(fresh), cluster), second)
    assert second.read_bytes() == first.read_bytes()


@pytest.fixture
def with_cluster(folder: Path) -> Path:
    """The data folder, with a bundle of another cluster in it that cites the same mechanism."""
    other = bundle_of(
        sources=[{"source_id": "her", "citation": "Measured by her"}],
        clusters=[{"cluster": "other", "nodes": 1, "ranks_per_node": 8, "source_id": "her"}],
        mechanisms=TINY["mechanisms"],
        workloads=[{"workload": "large", "name": "Large"}],
        operating_points=[
            {**TINY["operating_points"][0], "point_id": "q", "cluster": "other", "state_mb": 1}
        ],
    )
    (folder / "clusters").mkdir()
    write_bundle(other, folder / "clusters" / "other.json")
    return folder


def test_a_folder_brings_the_bundles_of_its_clusters(database_url: str, with_cluster: Path) -> None:
    report = load(database_url, with_cluster)
    assert report.kinds["clusters"].added == report.kinds["operating_points"].added == 2
    mechanisms = report.kinds["mechanisms"]
    assert (mechanisms.added, mechanisms.updated, mechanisms.unchanged) == (1, 0, 1)
    assert [p.point_id for p in evidence(database_url, "other").points] == ["q"]
    before = rows(database_url)
    again = load(database_url, with_cluster)
    assert not again.changed
    assert again.kinds["clusters"].unchanged == 2
    assert rows(database_url) == before


def test_a_bundle_leaves_the_catalogue_as_it_is(database_url: str, folder: Path) -> None:
    """It may be older than the program, and what the program says of itself is in its CSV files."""
    load(database_url, folder)
    before = rows(database_url)
    bundle = json.loads(bundle_text(export(database_url, "tiny")), parse_float=Decimal)
    kinds = bundle["kinds"]
    kinds["architectures"][0] |= {"name": "Old ring", "capabilities": "full_rank_group"}
    kinds["mechanisms"][0]["cadence"] = "every_step"
    kinds["compatibility"][0] |= {"status": "infeasible", "reason": "as was thought once"}
    assert not load_rows(database_url, bundle_rows(bundle, "old")).changed
    assert rows(database_url) == before
    kinds["architectures"].append({"architecture": "new", "name": "New", "capabilities": "other"})
    assert load_rows(database_url, bundle_rows(bundle, "old")).kinds["architectures"].added == 1
    kinds["clusters"][0]["nodes"] = 3
    assert load_rows(database_url, bundle_rows(bundle, "old")).kinds["clusters"].updated == 1


def test_a_mistake_in_a_bundle_of_a_folder_loads_nothing(
    database_url: str, with_cluster: Path
) -> None:
    path = with_cluster / "clusters" / "other.json"
    good = path.read_text()
    path.write_text(good.replace('"q"', "null"))
    (with_cluster / "clusters" / "broken.json").write_text("{")
    said = refusal(database_url, with_cluster)
    assert "broken.json is not JSON" in said
    (with_cluster / "clusters" / "broken.json").unlink()
    assert "other.json operating_points row 1, column point_id" in refusal(
        database_url, with_cluster
    )
    path.write_text(good.replace('"disk",\n    "workload"', '"tape",\n    "workload"'))
    assert "no such row 'tape'" in refusal(database_url, with_cluster)
    assert not any(rows(database_url).values())


def test_a_bundle_from_one_database_loads_into_the_other(
    sqlite_file: Path, database_url: str, tmp_path: Path
) -> None:
    write_bundle(export(str(sqlite_file), CLUSTER), tmp_path / "b.json")
    load(database_url, tmp_path / "b.json")
    assert evidence(database_url, CLUSTER).points == evidence(str(sqlite_file), CLUSTER).points


def test_only_the_cluster_asked_for_is_exported(shipped_url: str, folder: Path) -> None:
    load(shipped_url, folder)
    kinds = export(shipped_url, "tiny")["kinds"]
    assert [row["cluster"] for row in kinds["clusters"]] == ["tiny"]
    assert [row["source_id"] for row in kinds["sources"]] == ["me"]
    assert [row["point_id"] for row in kinds["overheads"]] == ["p"]
    assert kinds["overheads"][0]["overhead_percent"] == Decimal("0.48")
    assert "text_values" not in kinds


def test_an_unknown_cluster_is_not_exported(shipped_url: str) -> None:
    with pytest.raises(NotFoundError, match=CLUSTER):
        export(shipped_url, "moon")


def test_values_of_runs_alone_are_not_lost_silently(database_url: str) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        for name, row in GOOD.items():
            connection.execute(Base.metadata.tables[name].insert(), row)
    engine.dispose()
    with pytest.raises(InvalidDataError, match="1 values come from runs alone"):
        export(database_url, "tiny")


def test_the_bundle_fits_its_schema(shipped_url: str) -> None:
    jsonschema.Draft202012Validator.check_schema(bundle_schema())
    plain = json.loads(bundle_text(export(shipped_url, CLUSTER)))
    jsonschema.validate(plain, bundle_schema())
    plain["kinds"]["clusters"][0]["nodes"] = 0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain, bundle_schema())


def test_the_schema_in_data_is_the_one_made_from_the_models() -> None:
    path = resource_dir("data") / "schemas" / "cluster-bundle-2.schema.json"
    assert json.loads(path.read_text()) == bundle_schema()


def test_a_bundle_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text("old")
    with pytest.raises(TypeError):
        write_bundle({"kinds": object()}, path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["b.json"]


@settings(deadline=None, derandomize=True)
@given(st.floats(min_value=0, max_value=1e280, allow_nan=False))
def test_any_float_survives_the_way_out_and_back(value: float) -> None:
    """In milliseconds and percent, through JSON text: the same float to the last bit."""
    for name, column in (("saves", "save_ms"), ("overheads", "overhead_percent")):
        kind = BY_NAME[name]
        stored = dict.fromkeys((c.field for c in kind.columns.values()), None)
        stored |= {"point_id": "p", "value": value, "evidence": "derived", "source_id": "me"}
        written = json.loads(bundle_text(from_table(kind, stored)), parse_float=Decimal)
        fields = {kind.columns[key].field: cell for key, cell in written.items() if cell}
        fields.setdefault("value", written[column])
        assert to_table(kind, kind.model.model_validate(fields))["value"] == value


def test_every_kind_names_its_columns_once() -> None:
    for kind in KINDS:
        fields = [column.field for column in kind.columns.values()]
        assert len(fields) == len(set(fields))
        assert set(kind.key) <= set(fields)
