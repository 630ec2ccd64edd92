"""`collect`: the small tables of many runs in one place each; SQL and Python over them."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from wlanlens_cli.query import _files, connect

import wlanlens as wl
from tests.pipeline.fleets import litter, traces
from tests.warm import completed
from wlanlens.tables import names
from wlanlens.tables.fleet_schemas import BIG, small


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    traces(folder / "in", 8, 1)
    return wl.batch(folder / "in", folder / "out", report=False).out


@pytest.fixture(scope="module")
def fleet(batch: Path) -> wl.Fleet:
    return wl.collect(batch, batch.parent / "fleet")


def sql(fleet: Path, text: str) -> list[dict[str, object]]:
    done = completed(fleet.parent, "query", fleet, text, "--format", "json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_table_is_big_or_small() -> None:
    assert set(BIG) | set(small()) == set(names())
    assert {"findings", "ledger", "flows", "quality", "timeouts", "recoveries"} <= set(small())


def test_a_fleet_has_the_rows_of_all_runs(batch: Path, fleet: wl.Fleet) -> None:
    rows = fleet.runs.to_pylist()
    assert [row["run"] for row in rows] == sorted(path.name for path in (batch / "runs").iterdir())
    for name in small():
        together = fleet.table(name)
        for row in rows:
            mine = together.filter(pc.equal(together.column("run").cast("string"), row["run"])).drop_columns(["run"])
            if row["status"] == "done":
                assert mine.to_pylist() == wl.load(batch / "runs" / row["run"]).trace.table(name).to_pylist()
            else:
                assert mine.num_rows == 0
    assert fleet.analysis("good0003").verdict.sentence == rows[4]["verdict"]
    with pytest.raises(wl.WlanlensError, match="no analysed run"):
        fleet.analysis("empty0000")
    with pytest.raises(wl.WlanlensError, match="no table 'packets'"):
        fleet.table("packets")
    assert litter(fleet.path) == []


def test_the_same_runs_give_the_same_bytes(batch: Path, fleet: wl.Fleet, tmp_path: Path) -> None:
    again = wl.collect([batch], tmp_path / "again")
    for path in fleet.path.glob("*.parquet"):
        assert path.read_bytes() == (again.path / path.name).read_bytes(), path.name


def test_sql_over_a_fleet_and_a_big_table_by_its_path(batch: Path, fleet: wl.Fleet) -> None:
    (row,) = sql(fleet.path, "SELECT count(DISTINCT run) AS n FROM ledger")
    assert row == {"n": 8}
    (row,) = sql(fleet.path, "SELECT tables FROM runs WHERE run = 'good0002'")
    files = f"{row['tables']}/segments/*.parquet"
    (count,) = sql(fleet.path, f"SELECT count(*) AS n FROM read_parquet('{files}')")  # noqa: S608
    assert count == {"n": wl.load(batch / "runs" / "good0002").trace.table("segments").num_rows}
    for path in (batch / "runs.parquet", f"{row['tables']}/../../good0001/tables/segments/*.parquet", "/etc/passwd"):
        done = completed(batch, "query", fleet.path, f"SELECT * FROM read_parquet('{path}')")  # noqa: S608
        assert done.returncode == 3
        assert "Traceback" not in done.stderr


def test_several_directories_and_single_analyses(batch: Path, tmp_path: Path) -> None:
    single = tmp_path / "single"
    shutil.copytree(batch / "runs" / "good0001", single)
    shutil.copytree(batch, tmp_path / "b" / "out")
    fleet = wl.collect([batch, single, tmp_path / "b"], tmp_path / "fleet")
    found = fleet.runs.column("run").to_pylist()
    assert {"out/good0001", "single", "b/out/runs/good0001"} <= set(found)
    assert len(found) == 9 + 1 + 8
    rows = {row["run"]: row for row in fleet.runs.to_pylist()}
    same = (
        "verdict",
        "cause",
        "cause_s",
        "lost_s",
        "life_s",
        "findings",
        "serious",
        "records",
        "ledger",
        "connections",
        "notes",
    )
    assert [rows["single"][name] for name in same] == [rows["out/good0001"][name] for name in same]
    with pytest.raises(wl.WlanlensError, match="two runs have the name"):
        wl.collect([batch, batch], tmp_path / "twice")


def test_a_damaged_run_is_a_row(batch: Path, tmp_path: Path) -> None:
    shutil.copytree(batch, tmp_path / "out")
    made = tmp_path / "out" / "runs"
    (made / "good0000" / "analysis.json").write_text("[]")
    (made / "good0001" / "tables" / "flows" / "part-00000.parquet").write_bytes(b"PAR1")
    flows = made / "good0002" / "tables" / "flows" / "part-00000.parquet"
    flows.unlink()
    flows.symlink_to(made / "good0003" / "tables" / "flows" / "part-00000.parquet")
    shutil.rmtree(made / "good0004" / "tables" / "ledger")
    findings = made / "good0005" / "tables" / "ledger" / "part-00000.parquet"
    pq.write_table(pq.read_table(findings).slice(1), findings)
    fleet = wl.collect(tmp_path / "out", tmp_path / "fleet")
    statuses = dict(zip(fleet.runs.column("run").to_pylist(), fleet.runs.column("status").to_pylist(), strict=True))
    assert [run for run, status in statuses.items() if status == "done"] == ["good0003", "good0006", "good0007"]
    assert set(fleet.table("flows").column("run").to_pylist()) == {"good0003", "good0006", "good0007"}


def test_what_is_no_fleet(batch: Path, tmp_path: Path) -> None:
    with pytest.raises(wl.WlanlensError, match="not a fleet"):
        wl.load_fleet(batch)
    with pytest.raises(wl.WlanlensError, match="holds other files"):
        wl.collect(batch, batch)
    with pytest.raises(wl.WlanlensError, match="no analysed directory"):
        wl.collect(tmp_path, tmp_path / "fleet")
    fleet = wl.collect(batch, tmp_path / "fleet").path
    about = json.loads((fleet / "fleet.json").read_text())
    (fleet / "fleet.json").write_text(json.dumps(about | {"runs": None}))
    with pytest.raises(wl.WlanlensError, match="interrupted"):
        wl.load_fleet(fleet)
    assert completed(tmp_path, "collect", batch, "-o", fleet).stdout.startswith("9 runs, 1 of them without tables")
    (fleet / "flows.parquet").write_bytes((fleet / "ledger.parquet").read_bytes())
    done = completed(tmp_path, "query", fleet, "SELECT 1")
    assert done.returncode == 3
    assert "missing columns" in done.stderr


@pytest.mark.timeout(600)  # 50 000 files: a slow disk takes minutes to make them
def test_two_thousand_runs(batch: Path, tmp_path: Path) -> None:
    # Each run is a copy of one of eight: hard links to its files, since only their number matters here.
    originals = [batch / "runs" / f"good{number:04}" for number in range(8)]

    def make(numbers: range) -> None:
        for number in numbers:
            shutil.copytree(originals[number % 8], tmp_path / "many" / f"run{number:05}", copy_function=os.link)

    make(range(200))
    begun_cpu = time.process_time()
    wl.collect(tmp_path / "many", tmp_path / "part")
    part_cpu_s = time.process_time() - begun_cpu
    make(range(200, 2_000))
    begun_cpu = time.process_time()
    fleet = wl.collect(tmp_path / "many", tmp_path / "fleet")
    cpu_s = time.process_time() - begun_cpu
    size = sum(path.stat().st_size for path in fleet.path.iterdir())
    assert fleet.runs.column("status").to_pylist() == ["done"] * 2_000
    assert cpu_s < 30 * part_cpu_s  # a tenth of the runs; a square would take 100 times as long
    assert size < 10e6
    connection = connect(*_files(str(fleet.path), ""))
    found = connection.sql("SELECT run, sum(cost_s) AS s FROM findings GROUP BY run ORDER BY s DESC LIMIT 3").fetchall()
    assert len(found) == 3
