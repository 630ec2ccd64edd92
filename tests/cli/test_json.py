"""What `--json` prints and what is written as JSON has the form of docs/json-schema.json."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from tests.captures import MIXED, ROOT, samples
from tests.warm import completed

FOUR = samples()["usb_ack_holding"]


@cache
def schema() -> dict[str, Any]:
    made: dict[str, Any] = json.loads((ROOT / "docs" / "json-schema.json").read_text())
    Draft202012Validator.check_schema(made)
    return made


def check(content: Any, form: str) -> None:
    """Validate against one definition."""
    Draft202012Validator({**schema()["$defs"][form], "$defs": schema()["$defs"]}).validate(content)


def printed(folder: Path, *words: object, status: int = 0) -> Any:
    done = completed(folder, *words)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the analyses `one` and `four`."""
    made = tmp_path_factory.mktemp("json")
    for name, captures in (("one", [MIXED]), ("four", FOUR)):
        done = completed(made, "analyze", *captures, "-o", name, "--no-report", "--quiet")
        assert done.returncode == 0, done.stderr
    return made


@pytest.mark.parametrize("analysed", ["one", "four"])
@pytest.mark.parametrize("name", ["findings.json", "analysis.json"])
def test_files_of_an_analysed_directory(place: Path, analysed: str, name: str) -> None:
    content = json.loads((place / analysed / name).read_text())
    check(content, name)
    assert content["schema_version"] == 1


def test_truth_of_a_simulation_has_the_form_of_findings(tmp_path: Path) -> None:
    words = ("simulate", "-s", "ack_holding", "--set", "duration_s=3", "-o", "world", "--quiet")
    assert completed(tmp_path, *words).returncode == 0
    truth = json.loads((tmp_path / "world" / "truth.json").read_text())
    check(truth, "findings.json")
    assert truth["findings"]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("analyze", ["analyze", MIXED, "-o", "again", "--no-report", "--json"]),
        ("list", ["list", "detectors", "--json"]),
        ("list", ["list", "scenarios", "--json"]),
        ("list", ["list", "formats", "--json"]),
        ("show packet", ["show", MIXED, 5, "--json"]),
        ("show packet", ["show", "one", 5, "--json"]),
        ("show journeys", ["show", "four", "sender:3", "--json"]),
        ("doctor", ["doctor", MIXED, "--json"]),
        ("compare", ["compare", "one", "one", "--json"]),
    ],
)
def test_what_commands_print(place: Path, form: str, words: list[object]) -> None:
    check(printed(place, *words), form)


def test_what_batch_prints(tmp_path: Path) -> None:
    check(printed(tmp_path, "batch", MIXED, "-o", "out", "--no-report", "--json"), "batch")


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("validate", ["validate", "-s", "clean_link", "--seeds", 1, "-d", "ack_holding"]),
        ("validate --random", ["validate", "--random", 1, "-s", "clean_link"]),
        ("validate --clocks", ["validate", "--clocks", "-s", "clean_link", "--seeds", 1]),
    ],
)
def test_what_validate_prints(tmp_path: Path, form: str, words: list[object]) -> None:
    done = completed(tmp_path, *words, "-j", 1, "--json")
    assert done.returncode in (0, 1), done.stderr
    check(json.loads(done.stdout), form)


def test_what_reproduce_prints(tmp_path: Path) -> None:
    done = completed(tmp_path, "reproduce", "dcf_model_values", "--jobs", 1, "--json")
    assert done.returncode in (0, 1), done.stderr
    check(json.loads(done.stdout), "reproduce")


def test_the_schema_refuses_another_form(place: Path) -> None:
    whole = json.loads((place / "one" / "findings.json").read_text())
    for change in ("severity", "unknown", "schema_version"):
        edited = copy.deepcopy(whole)
        if change == "schema_version":
            del edited["schema_version"]
        else:
            edited["findings"][0][change] = "fatal"
        with pytest.raises(ValidationError):
            check(edited, "findings.json")


def test_a_unit_is_listed_with_its_thresholds_and_parameters(tmp_path: Path) -> None:
    detectors = {u["name"]: u for u in printed(tmp_path, "list", "detectors", "--json")["units"]}
    assert detectors["ack_holding"]["thresholds"]["min_hold_ms"] == 50.0
    scenarios = {u["name"]: u for u in printed(tmp_path, "list", "scenarios", "--json")["units"]}
    assert scenarios["ack_holding"]["parameters"]["hold_s"]["text"].endswith(".")


def test_a_directory_of_another_version_is_refused(place: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(place / "one", tmp_path / "other")
    path = tmp_path / "other" / "findings.json"
    path.write_text(path.read_text().replace('"schema_version": 1', '"schema_version": 99', 1))
    done = completed(tmp_path, "report", "other")
    assert done.returncode == 3
    assert "schema_version 99" in done.stderr
