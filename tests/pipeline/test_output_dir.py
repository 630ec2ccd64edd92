"""An analysed directory is complete or absent, and files that wlanlens did not write stay."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.captures import CLEAN, MIXED
from wlanlens.errors import CorruptCapture, OutputError, WlanlensError
from wlanlens.pipeline.analyze import analyze, load
from wlanlens.pipeline.file_names import ANALYSIS, FINDINGS, LOCK, SCRATCH, evidence
from wlanlens.pipeline.output_dir import Output, Scratch
from wlanlens.pipeline.report_file import rewrite_report
from wlanlens.pipeline.result_dir import Stored
from wlanlens.threads import Threads


def tree(path: Path) -> set[str]:
    return {str(p.relative_to(path)) for p in path.rglob("*")}


def test_a_failed_run_leaves_no_files(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"

    def fail() -> None:
        with Output(out) as output:
            output.file("tables", "packets", "part-00000.parquet").write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert tree(tmp_path) == set()


def test_a_failed_run_keeps_the_earlier_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analyze([CLEAN], out=tmp_path / "out")
    before = {name: (tmp_path / "out" / name).read_bytes() for name in tree(tmp_path / "out") if "." in name}
    monkeypatch.setattr("wlanlens.pipeline.report_file.write_report", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        analyze([MIXED], out=tmp_path / "out")
    after = {name: (tmp_path / "out" / name).read_bytes() for name in tree(tmp_path / "out") if "." in name}
    assert after == before


def test_files_of_an_earlier_run_are_removed_and_foreign_files_stay(tmp_path: Path) -> None:
    out = tmp_path / "out"
    analyze([CLEAN], out=out)
    (out / "tables" / "packets" / "part-00001.parquet").write_bytes(b"stale")
    foreign = [out / "thesis.tex", out / "tables" / "mine.parquet", out / "tables" / "packets" / "mine.txt"]
    for path in foreign:
        path.write_bytes(b"mine")
    analyze([MIXED], out=out)
    assert not (out / "tables" / "packets" / "part-00001.parquet").exists()
    assert all(path.read_bytes() == b"mine" for path in foreign)
    assert load(out).trace.captures[0].name == MIXED.name


def test_symbolic_links_are_replaced_not_followed(tmp_path: Path) -> None:
    out, home = tmp_path / "out", tmp_path / "home"
    home.mkdir()
    out.mkdir()
    for name in ("report.html", "findings.json", "packets"):
        (home / name).mkdir() if name == "packets" else (home / name).write_bytes(b"mine")
    for name in ("report.html", "findings.json"):
        os.symlink(home / name, out / name)
    (out / "tables").mkdir()
    os.symlink(home / "packets", out / "tables" / "packets")
    os.symlink(home / "report.html", out / "analysis.json.tmp")
    analyze([CLEAN], out=out)
    assert (home / "report.html").read_bytes() == b"mine"
    assert (home / "findings.json").read_bytes() == b"mine"
    assert list((home / "packets").iterdir()) == []
    assert not any(path.is_symlink() for path in out.rglob("*"))


def test_two_threads_make_the_same_folder(tmp_path: Path) -> None:
    for number in range(100):
        met = threading.Barrier(2, timeout=10)

        def made(name: str, out: Output, met: threading.Barrier = met) -> Path:
            met.wait()
            return out.file("tables", name, "part")

        with Output(tmp_path / str(number)) as output, Threads(2) as two:
            paths = list(two.map(partial(made, out=output), ("packets", "urbs")))
            assert all(path.parent.is_dir() for path in paths)


def test_a_foreign_report_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_bytes(b"mine")
    with pytest.raises(OutputError, match="did not write"):
        analyze([CLEAN], out=tmp_path)
    assert tree(tmp_path) == {"report.html"}


def test_the_output_directory_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_bytes(b"mine")
    with pytest.raises(OutputError, match="is a file"):
        analyze([CLEAN], out=tmp_path / "taken")


def test_two_runs_do_not_share_a_directory(tmp_path: Path) -> None:
    with Output(tmp_path / "out"):
        with pytest.raises(OutputError, match="another wlanlens"):
            analyze([CLEAN], out=tmp_path / "out")
        assert (tmp_path / "out" / LOCK).exists()
    assert not (tmp_path / "out").exists()


def test_damaged_directories_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    analyze([CLEAN], out=out)
    part = out / "tables" / "flows" / "part-00000.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(WlanlensError, match="cannot be read"):
        load(out).trace.table("flows")
    (out / "tables" / "timeouts" / "part-00000.parquet").write_bytes(
        (out / "tables" / "quality" / "part-00000.parquet").read_bytes()
    )
    with pytest.raises(WlanlensError, match="missing columns"):
        Stored(out).trace.table("timeouts")
    for damage in ("[]", "{", '{"captures": [], "detectors": [{}]}', "[" * 100_000):
        (out / "analysis.json").write_text(damage)
        with pytest.raises(WlanlensError, match="not what wlanlens writes"):
            load(out)


def test_a_directory_without_all_rows_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    rows = analyze([CLEAN], out=out).trace.table("packets").num_rows
    (out / "tables" / "packets" / "part-00000.parquet").unlink()
    for use in (load, rewrite_report):
        with pytest.raises(CorruptCapture, match=f"table packets has 0 of its {rows} rows"):
            use(out)


def test_a_run_killed_while_it_replaces_leaves_no_directory_that_looks_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run over an older analysis is stopped before each of its renames and removals in turn."""
    out = tmp_path / "out"
    analyze([CLEAN], out=out)
    for left in range(60):
        steps = [left]

        def killed(done: Callable[..., Any], steps: list[int] = steps) -> Callable[..., Any]:
            def step(*given: Any, **more: Any) -> Any:
                if steps[0] == 0:
                    raise KeyboardInterrupt
                steps[0] -= 1
                return done(*given, **more)

            return step

        with Output(out) as output, monkeypatch.context() as patched:
            for name in (ANALYSIS, FINDINGS):
                output.write_text(name, "{}")
            output.file("tables", "flows", "part-00000.parquet").write_bytes(b"new")
            patched.setattr(os, "replace", killed(os.replace))
            patched.setattr(Path, "unlink", killed(Path.unlink))
            try:
                output.commit()
            except KeyboardInterrupt:
                whole = (out / FINDINGS).exists()
            else:
                return
        if whole:
            new = (out / FINDINGS).read_text() == "{}"
            assert (out / ANALYSIS).read_text() == "{}" if new else left == 0
            assert (out / "tables" / "flows" / "part-00000.parquet").read_bytes() == b"new" if new else left == 0
    raise AssertionError("never done")


def test_evidence_of_an_earlier_analysis_is_removed(tmp_path: Path) -> None:
    analyze([CLEAN], out=tmp_path / "out", report=False)
    (tmp_path / "out" / evidence(1)).write_bytes(b"old")
    (tmp_path / "out" / "evidence-of-mine.pcapng").write_bytes(b"mine")
    analyze([CLEAN], out=tmp_path / "out", report=False)
    assert not (tmp_path / "out" / evidence(1)).exists()
    assert (tmp_path / "out" / "evidence-of-mine.pcapng").exists()


def test_the_scratch_folder_is_removed(tmp_path: Path) -> None:
    """Nothing stays of the scratch folder: after a run, after a failed run, and after a run that was killed."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / SCRATCH).symlink_to(elsewhere)
    with Output(out) as output, Scratch(output) as scratch:
        scratch.file("0", "tables", "part").write_bytes(b"half")
    assert (elsewhere / "mine").exists()
    assert not os.path.lexists(out / SCRATCH)
    (out / SCRATCH).mkdir()
    (out / SCRATCH / "left").write_text("by a run that was killed")
    with pytest.raises(WlanlensError, match="no packet in common"):
        analyze([CLEAN, MIXED], out=out)
    assert tree(out) == set()
