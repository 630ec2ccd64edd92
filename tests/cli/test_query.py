"""`wlanlens query`: SQL over an analysed directory, whatever its name, and clear errors."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from wlanlens_cli.query import plain

import wlanlens as wl
from tests.captures import MIXED
from tests.warm import completed


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("query") / "mixed"
    wl.analyze(MIXED, out=out, report=False)
    return out


def rows(folder: Path, sql: str) -> list[dict[str, object]]:
    done = completed(folder.parent, "query", folder, sql, "--format", "json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def said(folder: Path, sql: str) -> str:
    done = completed(folder.parent, "query", folder, sql)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "\\x0a" not in done.stderr
    return str(done.stderr)


@pytest.mark.parametrize("table", ["packets", "segments", "flows", "ledger", "quality"])
def test_every_column_can_be_read(analysed: Path, table: str) -> None:
    found = rows(analysed, f"FROM {table} LIMIT 5")
    assert list(found[0]) == wl.load(analysed).trace.table(table).column_names


def test_times_are_utc(analysed: Path) -> None:
    (row,) = rows(analysed, "SELECT min(time) AS begun FROM packets")
    assert str(row["begun"]).startswith("2026-11-20 ")
    assert str(row["begun"]).endswith("Z")


def test_times_can_be_computed_with(analysed: Path) -> None:
    sql = """
        SELECT date_trunc('second', time) AS second, count(*) AS packets, max(epoch_ns(time)) AS last_ns,
               extract(minute FROM min(time)) AS minute
        FROM packets
        WHERE time < (SELECT min(time) FROM packets) + INTERVAL 2 SECOND AND time > '2026-01-01'
        GROUP BY second ORDER BY second
    """
    found = rows(analysed, sql)
    packets = wl.load(analysed).trace.view("packets")
    early = packets[packets["time"] < packets["time"].min() + pd.Timedelta(seconds=2)]
    assert sum(int(str(row["packets"])) for row in found) == len(early)
    assert found[-1]["last_ns"] == early["time"].astype("int64").max()
    assert found[0]["second"] == "2026-11-20 12:45:46.000000Z"
    assert found[0]["minute"] == 45


def test_json_has_sums_null_and_every_column(analysed: Path) -> None:
    (row,) = rows(
        analysed, "SELECT sum(x) AS s, 'nan'::DOUBLE AS x, 1 AS a, 2 AS a, ['inf'::DOUBLE, 1] AS b FROM range(3) t(x)"
    )
    assert row == {"s": 3, "x": None, "a": 1, "a_1": 2, "b": [None, 1.0]}
    assert plain({"a": [float("nan")]}) == {"a": [None]}


@pytest.mark.parametrize("sql", ["", ";", " ; ; "])
def test_no_statement(analysed: Path, sql: str) -> None:
    assert "has no rows" in said(analysed, sql)


def test_an_error_is_one_line_with_the_nearest_name(analysed: Path) -> None:
    error = said(analysed, "SELECT * FROM timeoutz")
    assert "Table with name timeoutz does not exist" in error
    assert "timeouts" in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("name", ["capture=lab", "a*b", "a?b", "a[b]c", "it's"])
def test_any_folder(analysed: Path, tmp_path: Path, name: str) -> None:
    # Folders that a wildcard would find as well.
    for folder in (name, "axb", "aab"):
        shutil.copytree(analysed, tmp_path / folder / "out")
    shutil.rmtree(tmp_path / "axb" / "out" / "tables" / "flows")
    (row,) = rows(tmp_path / name / "out", "SELECT count(*) AS n, min(capture) AS capture FROM packets")
    assert row["n"] == wl.load(analysed).trace.table("packets").num_rows
    assert row["capture"] != "lab"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(analysed: Path, number: int) -> None:
    endless = "SELECT max(hash(a)) FROM range(1000000000000) t(a)"
    words = [sys.executable, "-m", "wlanlens_cli.main", "query", str(analysed), endless]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        try:
            status, end = Path(f"/proc/{child.pid}/status"), time.monotonic() + 30
            # DuckDB's own threads run: the statement has begun.
            while time.monotonic() < end and "Threads:\t1\n" in status.read_text():
                time.sleep(0.05)
            time.sleep(0.5)
            child.send_signal(number)
            assert child.wait(timeout=10) == 128 + number
        finally:
            child.kill()
