"""The shipped bundles of measured clusters: as exported, explained, and nobody's paths in them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from db.bundle_schema import bundle_schema
from db.export import export
from db.files import bundle_text

DATA = Path(__file__).resolve().parents[2] / "data"
BUNDLES = sorted((DATA / "clusters").iterdir())
_ABSOLUTE_PATH = re.compile(r"""(?:^|[\s='"])(?:/[\w.-]|[A-Z]:\\)""")

each_bundle = pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.stem)


def kinds(path: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(path.read_text(encoding="utf-8"))["kinds"]
    return found


def explained(path: Path) -> str:
    """The section of data/README.md about a bundle."""
    text = (DATA / "README.md").read_text(encoding="utf-8")
    heading = f"## `clusters/{path.name}`\n"
    assert text.count(heading) == 1
    return text.partition(heading)[2].partition("\n## ")[0]


def test_some_measured_cluster_is_shipped() -> None:
    assert BUNDLES
    assert {path.suffix for path in BUNDLES} == {".json"}


@each_bundle
def test_it_is_of_one_cluster_and_named_after_it(path: Path) -> None:
    assert [row["cluster"] for row in kinds(path)["clusters"]] == [path.stem]


@each_bundle
def test_it_fits_the_schema(path: Path) -> None:
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), bundle_schema())


@each_bundle
def test_it_is_what_export_writes(reading_url: str, path: Path) -> None:
    """With the catalogue of the CSV files, which a bundle does not change: after such a change,
    `advisor db export` from a new database writes the bundle anew."""
    assert bundle_text(export(reading_url, path.stem)) + "\n" == path.read_text(encoding="utf-8")


@each_bundle
def test_its_numbers_are_measured_here_and_say_how_often(path: Path) -> None:
    values = [
        row for rows in kinds(path).values() for row in rows if "provenance" in row and row.get("n")
    ]
    assert values
    for row in values:
        assert row["provenance"] in {"measured", "measured+analytical"}, row
        assert row["source_id"] == f"measured/{path.stem}"
        # One number alone has no spread, and neither has what holds by definition.
        assert (
            row["n"] == 1
            or row["dispersion_kind"]
            or "halted" in row["conditions"]
            or ("resumed_percent" in row or row["missing_reason"])
        ), row


@each_bundle
def test_readme_says_how_when_and_with_what_it_was_measured(path: Path) -> None:
    told, found = explained(path), kinds(path)
    assert re.search(r"^advisor measure .+$", told, re.MULTILINE)
    assert f"--cluster {path.stem}" in told
    for row in found["software_stacks"]:
        assert f"torch {row['torch']}" in told
        assert f"Python {row['python']}" in told
    (cluster,) = found["clusters"]
    assert cluster["device"] in told
    # A workload is cited as of the cluster that trained it first.
    of_workloads = {row["source_id"] for row in found["workloads"]}
    own = {row["source_id"]: row for row in found["sources"]}.pop(f"measured/{path.stem}")
    assert {row["source_id"] for row in found["sources"]} <= {own["source_id"], *of_workloads}
    assert own["published_on"] in told
    for row in found.get("calibration_sessions", ()):
        assert row["started_at"][:10] in told
        assert "advisor calibrate " in told


@each_bundle
def test_no_machines_paths_are_in_it(path: Path) -> None:
    found = [text for text in texts(kinds(path)) if _ABSOLUTE_PATH.search(text)]
    assert found == []


def texts(value: Any) -> Iterator[str]:
    """Every text in it, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)
