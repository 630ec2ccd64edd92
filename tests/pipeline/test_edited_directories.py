"""A directory of a stranger is read right or refused in one line: no bug, no hang, no link followed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wlanlens as wl
from tests.captures import CLEAN, MIXED
from tests.pipeline.edited_directories import analysed, attempt
from tests.warm import completed
from wlanlens.errors import WlanlensError
from wlanlens.pipeline.file_names import ANALYSIS, FINDINGS
from wlanlens.pipeline.output_dir import Output


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return analysed(tmp_path_factory.mktemp("bases"))


@pytest.fixture
def mixed(bases: list[Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(bases[0], tmp_path / "mixed"))


@pytest.mark.parametrize("number", range(40))
def test_edited(number: int, bases: list[Path], tmp_path: Path) -> None:
    said, found = attempt(bases, tmp_path / "place", f"test/{number}")
    assert not found, said


def put(folder: Path, file: str, place: tuple[str | int, ...], value: str) -> None:
    """Write a value, as JSON text, at a place in a JSON file."""
    content = json.loads((folder / file).read_bytes())
    where = content
    for key in place[:-1]:
        where = where[key]
    where[place[-1]] = "@"
    (folder / file).write_text(json.dumps(content).replace('"@"', value))


@pytest.mark.parametrize(
    ("file", "place", "value"),
    [
        (ANALYSIS, ("duration_ns",), "Infinity"),
        (ANALYSIS, ("duration_ns",), "1e999"),
        (ANALYSIS, ("duration_ns",), "-1"),
        (ANALYSIS, ("duration_ns",), "9" * 5000),
        (ANALYSIS, ("start_ns",), "NaN"),
        (ANALYSIS, ("captures", 0, "path"), r'"a\u0000b"'),
        (ANALYSIS, ("captures", 0, "records"), "null"),
        (ANALYSIS, ("verdict", "sentence"), "7"),
        (ANALYSIS, ("ledger_ns", "queue"), "1e9"),
        (ANALYSIS, ("ledger_ns", "such"), "1"),
        (ANALYSIS, ("connections",), "[" * 100_000 + "]" * 100_000),
        (ANALYSIS, ("tables", "flows"), "[]"),
        (FINDINGS, ("findings", 0, "cost_s"), "Infinity"),
        (FINDINGS, ("findings", 0, "t_end_ns"), "1.5"),
        (FINDINGS, ("findings", 0, "flow"), '"0"'),
        (FINDINGS, ("findings", 0, "flow"), "4294967296"),
        (ANALYSIS, ("verdict", "flow"), "-1"),
        (FINDINGS, ("findings", 0, "evidence"), "[null]"),
    ],
)
def test_values_of_json(mixed: Path, file: str, place: tuple[str | int, ...], value: str) -> None:
    put(mixed, file, place, value)
    with pytest.raises(WlanlensError, match="its JSON is not what wlanlens writes"):
        wl.load(mixed)


@pytest.mark.parametrize("place", ["tables", "tables/flows", "tables/flows/part-00000.parquet", FINDINGS, ANALYSIS])
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_links_are_not_followed_and_pipes_not_read(mixed: Path, tmp_path: Path, place: str, kind: str) -> None:
    (mixed / place).rename(tmp_path / "elsewhere")
    if kind == "link":
        (mixed / place).symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(mixed / place)
    done = completed(tmp_path, "report", mixed)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "symbolic link" in done.stderr or "not a" in done.stderr


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("direction", ["up", "b2a"], "unknown value 'up'"),
        ("capture", [None, "x"], "has nulls"),
        ("flow", [-1, 0], "is int64"),
    ],
)
def test_values_of_tables(mixed: Path, column: str, values: list[object], said: str) -> None:
    path = mixed / "tables" / "flows" / "part-00000.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index(column)
    pq.write_table(table.set_column(at, column, pa.array(values)), path)
    with pytest.raises(WlanlensError, match=said):
        wl.load(mixed).trace.table("flows")


def replaced(folder: Path, name: str, column: str, value: int | None) -> None:
    """Write one value into all rows of a column of times."""
    path = folder / "tables" / name / "part-00000.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index(column)
    values = pa.array([value] * table.num_rows, table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at).with_nullable(True), values), path)


def test_times_that_no_capture_has(bases: list[Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(next(base for base in bases if base.name == "ap_overflow"), tmp_path / "dir"))
    replaced(folder, "links", "t_end_ns", None)
    done = completed(tmp_path, "show", folder, "sender:2")
    assert (done.returncode, done.stderr) == (0, "")
    for name, column, value in (("ledger", "t_end_ns", 2**63 - 1), ("airtime", "t_start_ns", -(2**62))):
        replaced(folder, name, column, value)
        done = completed(tmp_path, "report", folder)
        assert (done.returncode, done.stderr) == (0, "")


def test_evidence_reads_only_the_capture_that_was_analysed(mixed: Path, tmp_path: Path) -> None:
    def evidence(*words: object) -> str:
        done = completed(tmp_path, "evidence", mixed, 1, *words)
        assert done.returncode == (3 if done.stderr else 0)
        return str(done.stderr)

    assert evidence() == ""
    other = bytearray(MIXED.read_bytes())
    other[100] ^= 1
    for name, content, said in (
        ("same", MIXED.read_bytes(), ""),
        ("other", other, "its first bytes differ"),
        ("short", other[:-9], "bytes, not"),
    ):
        (tmp_path / name).write_bytes(content)
        assert said in evidence("--capture", tmp_path / name)
        put(mixed, ANALYSIS, ("captures", 0, "path"), json.dumps(str(tmp_path / name)))
        assert said in evidence()
    os.mkfifo(tmp_path / "fifo")
    for path, said in (
        ("fifo", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("absent", "no longer there"),
    ):
        put(mixed, ANALYSIS, ("captures", 0, "path"), json.dumps(str(tmp_path / path)))
        assert said in evidence()
    put(mixed, ANALYSIS, ("captures", 0, "head_sha256"), "null")
    put(mixed, ANALYSIS, ("captures", 0, "path"), json.dumps(str(tmp_path / "same")))
    assert "--capture FILE" in evidence()
    assert evidence("--capture", MIXED) == ""


def test_a_foreign_folder_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "tables" / "flows").mkdir(parents=True)
    for name in ("a.tex", "b.tex", "c", "d\x1b[31m"):
        (out / name).write_text("mine")
    done = completed(tmp_path, "analyze", CLEAN, "-o", out, "--no-report")
    assert done.returncode == 0
    assert "out holds a.tex, b.tex, c and 1 more; the results go beside them" in done.stderr
    assert all((out / name).read_text() == "mine" for name in ("a.tex", "b.tex", "c", "d\x1b[31m"))
    assert completed(tmp_path, "analyze", CLEAN, "-o", out, "--no-report").stderr == ""


@pytest.mark.parametrize(
    "name",
    ["analysis.json", "findings.json", "evidence-3.pcapng", "tables/flows/part-00000.parquet", "report_data/flow-1.js"],
)
def test_a_file_of_the_user_under_one_of_our_names(tmp_path: Path, name: str) -> None:
    (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "out" / name).write_text('{"mine": 1}')
    done = completed(tmp_path, "analyze", CLEAN, "-o", tmp_path / "out", "--no-report")
    assert done.returncode == 3
    assert f"holds {name}, which wlanlens did not write" in done.stderr
    assert (tmp_path / "out" / name).read_text() == '{"mine": 1}'


def test_what_a_killed_run_left_is_ours(tmp_path: Path) -> None:
    """A run that was killed while it gave its files their names has no analysis.json, but tables."""
    done = Output(tmp_path / "out")
    with done as output:
        output.file("tables", "flows", "part-00000.parquet").write_bytes(b"half")
        output.file("tables", "no such folder")
        with pytest.raises(WlanlensError, match="cannot write"):
            output.commit()
    assert (tmp_path / "out" / "tables" / "flows" / "part-00000.parquet").exists()
    wl.analyze(CLEAN, out=tmp_path / "out", report=False)
    assert {p.name for p in (tmp_path / "out").iterdir()} == {ANALYSIS, FINDINGS, "tables"}
