"""docs/session.md and docs/notebook.ipynb run as they stand."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.captures import ROOT
from tests.warm import completed

SESSION, NOTEBOOK = ROOT / "docs" / "session.md", ROOT / "docs" / "notebook.ipynb"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with the sample traces."""
    made = tmp_path_factory.mktemp("session")
    (made / "sample_traces").symlink_to(ROOT / "sample_traces")
    return made


def blocks(language: str) -> list[str]:
    """The blocks of the session in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", SESSION.read_text(encoding="utf-8"), re.M | re.S)


def test_the_session_runs(place: Path) -> None:
    lines = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    assert len(lines) >= 3
    for line in lines:
        name, *words = shlex.split(line)
        assert name == "wlanlens"
        done = completed(place, *words)
        assert done.returncode == 0, done.stderr
    assert {path.name for path in place.iterdir()} >= {"mixed.wlanlens"}

    code = blocks("python")
    assert len(code) >= 9
    marked = [f"{block}\nprint('--- block {i}')" for i, block in enumerate(code)]
    script = place / "session.py"
    script.write_text("\n".join(marked), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", script.name],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed = re.split(r"^--- block \d+$", done.stdout, flags=re.M)
    assert all(text.strip() for text in printed[1:-1]), "a block prints nothing"
    for word in ("retransmission", "packet_loss", "rto_wait", "RTT samples", "Mbit/s", "genuine", "No such file"):
        assert word in done.stdout
    assert {"time_sequence.html", "rtt.html"} <= {path.name for path in place.iterdir()}


def test_the_notebook_runs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs hold paths of a machine: clear them"
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", os.fspath(place / "ipython"))
    client = NotebookClient(
        notebook, timeout=200, kernel_name="python3", resources={"metadata": {"path": os.fspath(place)}}
    )
    done = client.execute()
    shown = [
        data
        for cell in done.cells if cell.cell_type == "code"
        for output in cell.outputs if (data := output.get("data"))
    ]  # fmt: skip
    pages = [data["text/html"] for data in shown if "text/html" in data]
    assert len(pages) >= 5
    assert not any(re.search(r"object at 0x[0-9a-f]+", str(data)) for data in shown), "a notebook shows an address"
    assert any("packet_loss" in page for page in pages)
    assert any("application/vnd.plotly.v1+json" in data for data in shown)
