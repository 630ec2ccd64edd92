"""What a small analysis loads: nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.captures import SAMPLES
from wlanlens.report.compiled_templates import CompiledTemplates

ONE = str(SAMPLES / "clean_cubic.sender.pcap")

#: Analyses with a report in a process of our own, then has pandas made of a table.
ANALYSE = """
import sys
from wlanlens.pipeline.allocator import settle
settle()
import wlanlens as wl
made = wl.analyze([sys.argv[1]], out=sys.argv[2])
print([name for name in ("pandas", "plotly") if name in sys.modules])
print(type(made.trace.view("flows")).__module__.partition(".")[0])
import pyarrow as pa
import pandas as pd
print(pa.array(pd.Series([1.0, None])).null_count)
"""


def test_an_analysis_imports_neither_pandas_nor_plotly(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-c", ANALYSE, ONE, str(tmp_path / "out")], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert said[0] == "[]"
    # Whoever wants pandas still gets it, and pyarrow knows its objects.
    assert said[1:] == ["pandas", "1"]


def test_a_table_is_read_without_pandas() -> None:
    code = (
        "import sys, wlanlens as wl; t = wl.open(sys.argv[1]).table('segments'); t.validate(full=True);"
        "print(t.column('capture').unique().to_pylist(), 'pandas' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code, ONE], check=True, capture_output=True, text=True).stdout
    assert said.strip() == "['clean_cubic.sender.pcap'] False"


def test_reading_begins_before_pyarrow_is_imported() -> None:
    code = (
        "import sys, wlanlens as wl; from wlanlens.capture.reader_thread import Feed; begin = Feed.begin;"
        "Feed.begin = lambda feed: (said.append('pyarrow' in sys.modules), begin(feed)); said = [];"
        "wl.open(sys.argv[1]).table('segments'); print(said[0])"
    )
    said = subprocess.run([sys.executable, "-c", code, ONE], check=True, capture_output=True, text=True).stdout
    assert said.strip() == "False"


def test_templates_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wlanlens.report import page

    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    kept = CompiledTemplates()
    kept.directory = str(tmp_path / "kept")
    environment = page.environment().overlay(bytecode_cache=kept, cache_size=0)
    environment.get_template("page.html.jinja")
    assert len(list((tmp_path / "kept").iterdir())) == 1
    monkeypatch.setattr(environment, "_generate", lambda *_, **__: pytest.fail("compiled again"))
    environment.get_template("page.html.jinja")


def test_templates_are_used_where_none_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wlanlens.report import page

    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    kept = CompiledTemplates()
    kept.directory = str(tmp_path / "a file")
    (tmp_path / "a file").write_text("")
    assert page.environment().overlay(bytecode_cache=kept, cache_size=0).get_template("page.html.jinja")


def test_plotly_is_compressed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wlanlens.report import encode, plotly_script

    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    script = tmp_path / "plotly.min.js"
    script.write_text("first")
    made = plotly_script.kept(script, tmp_path / "kept")
    assert made.packed == encode.packed(b"first")
    with monkeypatch.context() as patched:
        patched.setattr(encode, "packed", lambda _: pytest.fail("compressed again"))
        assert plotly_script.kept(script, tmp_path / "kept") == made
    script.write_text("second one")
    assert plotly_script.kept(script, tmp_path / "kept").packed == encode.packed(b"second one")
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_plotly_is_compressed_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wlanlens.report import encode, plotly_script

    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    script = tmp_path / "plotly.min.js"
    script.write_text("any")
    assert plotly_script.kept(script, script / "no folder").packed == encode.packed(b"any")
