"""`analyze`, in one pass and in windows, gives the same as `align` and `detect` in memory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import wlanlens as wl
from tests.captures import CLEAN, MIXED, SAMPLES
from wlanlens import tables
from wlanlens.detection.finding import Finding
from wlanlens.ledger import ledger
from wlanlens.pipeline import flow_window, run, table_writers
from wlanlens.pipeline.result_dir import tables_of


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.pcap")), ids=lambda p: p.name)
def test_tables_on_disk_are_those_in_memory(path: Path, tmp_path: Path) -> None:
    done = wl.analyze([path], out=tmp_path / "out", report=False)
    whole = wl.align([path])
    for name in tables.core_schemas():
        stored = done.trace.table(name)
        tables.validate(stored, name)
        assert stored.cast(pa.schema(whole.table(name).schema)).to_pylist() == whole.table(name).to_pylist(), name
    assert list(done.findings) == list(wl.detect(whole))
    assert done.ledger.to_pylist() == whole.table("ledger").to_pylist()
    assert done.trace.table("quality").to_pylist() == whole.table("quality").to_pylist()
    assert done.totals == ledger.totals(done.ledger)
    assert sum(done.totals.values()) == sum(row["ns"] for row in ledger.summary(whole.table("ledger")).to_pylist())


def test_small_windows_give_the_same_ledger_and_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = wl.analyze([MIXED], out=tmp_path / "whole", report=False)
    monkeypatch.setattr(flow_window, "ROWS", 200)
    monkeypatch.setattr(table_writers, "GROUP_ROWS", 100)
    monkeypatch.setattr(table_writers, "PART_BYTES", 4000)
    capture = wl.Capture(MIXED)
    capture._reader = capture.reader(batch_rows=50)
    cut = wl.analyze([capture], out=tmp_path / "cut", report=False)
    assert cut.description["tables"]["packets"]["parts"] > 3
    assert cut.totals == whole.totals
    for name in tables.core_schemas():
        assert cut.trace.table(name).to_pylist() == whole.trace.table(name).to_pylist(), name


def test_findings_are_capped_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "FINDINGS_KEPT", 1)
    done = wl.analyze([MIXED], out=tmp_path / "out", report=False)
    everything = wl.detect(wl.align([MIXED]))
    assert len(everything) > 1
    assert list(done.findings) == everything[:1]
    assert sum(done.description["findings"]["left_out"].values()) == len(everything) - 1


def test_a_failing_detector_is_reported_and_the_others_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wlanlens import registry

    shelf = registry.units("detectors")
    broken = registry.detector("broken", needs=("segments",))(lambda _trace: [1 / 0])
    needy = registry.detector("needy", needs=("urbs",))(lambda _trace: [])
    monkeypatch.setattr(registry, "units", lambda _name: {**shelf, "broken": broken, "needy": needy})
    done = wl.analyze([MIXED], out=tmp_path / "out", report=False)
    states = {state.code: state for state in done.findings.states}
    assert (states["broken"].state, states["broken"].reason) == ("failed", "ZeroDivisionError: division by zero")
    assert (states["needy"].state, states["needy"].reason) == ("not_run", "needs urbs")
    assert all(isinstance(f, Finding) for f in done.findings)
    assert done.findings


def test_quality_counts(tmp_path: Path) -> None:
    done = wl.analyze([MIXED], out=tmp_path / "out", report=False)
    row = done.trace.table("quality").to_pylist()[0]
    assert row["records"] == done.trace.table("packets").num_rows
    assert row["tcp_segments"] == done.trace.table("segments").num_rows
    assert row["tap_drops"] is None
    assert (row["loss_notes"], row["error_notes"]) == (0, 0)


def test_captures_of_other_traffic_are_refused() -> None:
    with pytest.raises(wl.WlanlensError, match="no packet in common"):
        wl.align([MIXED, CLEAN])


def test_a_scan_reads_only_the_given_flows(tmp_path: Path) -> None:
    wl.analyze([MIXED], out=tmp_path / "out", report=False)
    stored = tables_of(tmp_path / "out")
    assert sum(batch.num_rows for batch in stored.scan("segments", ["flow"], [0])) == stored.rows("segments")
    assert list(stored.scan("segments", None, [7])) == []


def test_public_names_exist() -> None:
    assert set(wl.__all__) <= set(dir(wl))
    for name in wl.__all__:
        assert getattr(wl, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = wl.nonsense
