"""The wheel: its tag is true, and it installs and runs where there is no compiler, no cargo and no source tree."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.captures import ROOT, SAMPLES
from tests.made import make

#: No release is larger: the extension, the package and the report's scripts.
MOST_BYTES = 8_000_000


@pytest.fixture(scope="module")
def wheel() -> Path:
    """`make wheel`."""
    make("wheel", "cargo")
    (found,) = (ROOT / "dist").glob("*.whl")
    return found


@pytest.mark.timeout(1500)
def test_tag_and_content(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name
    assert "manylinux_2_17_" in wheel.name
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert "wlanlens/_core.abi3.so" in names
        assert "wlanlens/report/page.html.jinja" in names
        assert "wlanlens_cli/main.py" in names
        assert not [name for name in names if name.startswith(("tests", "rust", "docs"))]
        core = archive.read("wlanlens/_core.abi3.so")
    versions = {tuple(map(int, found.split(b"."))) for found in re.findall(rb"GLIBC_([0-9]+(?:\.[0-9]+)+)", core)}
    assert (2, 17) in versions
    assert max(versions) <= (2, 17)


@pytest.mark.timeout(1500)
def test_the_source_distribution_holds_what_the_core_is_built_from(wheel: Path) -> None:
    (source,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    listed = subprocess.run(["git", "ls-files", "rust"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    if not listed:
        pytest.skip("not a git checkout")
    needed = {
        name
        for name in listed.split()
        if not name.startswith("rust/fuzz/") and name.endswith((".rs", ".toml", ".lock"))
    }
    assert "rust/Cargo.lock" in needed
    assert needed <= names
    assert not [name for name in names if "/target" in name]


def _pythons() -> list[str]:
    """Paths of the oldest and the newest Python that the wheel is for and that run here: its library is the same for all (abi3)."""
    found = {f"{sys.version_info.major}.{sys.version_info.minor}": getattr(sys, "_base_executable", sys.executable)}
    for minor in (11, 12, 13, 14):
        version = f"3.{minor}"
        places = [
            shutil.which(f"python{version}"),
            *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")),
        ]
        for place in filter(None, places):
            asked = [str(place), "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"]
            told = subprocess.run(asked, capture_output=True, text=True, check=False)
            if told.returncode == 0 and told.stdout.strip() == version:
                found.setdefault(version, str(place))
    versions = sorted(found, key=lambda version: int(version.partition(".")[2]))
    return [found[version] for version in dict.fromkeys((versions[0], versions[-1]))]


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("python", _pythons(), ids=lambda path: path.strip("/").replace("/", "-"))
def test_installs_and_runs_without_a_compiler(wheel: Path, python: str, tmp_path: Path) -> None:
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    programs = tmp_path / "venv" / "bin"
    kept = {
        key: value
        for key, value in os.environ.items()
        if key.startswith(("PIP_", "SSL_", "REQUESTS_")) or "proxy" in key.lower()
    }
    # Nothing but this environment is on PATH: no cargo, no compiler. HOME is empty: no ~/.cargo.
    bare = {**kept, "PATH": str(programs), "HOME": str(tmp_path), "LANG": "C.UTF-8", "TMPDIR": str(tmp_path)}

    def run(*words: str | Path) -> str:
        done = subprocess.run(
            [programs / words[0], *words[1:]], cwd=tmp_path, env=bare, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    assert shutil.which("cargo", path=bare["PATH"]) is None
    assert shutil.which("cc", path=bare["PATH"]) is None
    run(
        "pip",
        "install",
        "-q",
        "--no-compile",
        "--only-binary",
        ":all:",
        "--cache-dir",
        Path.home() / ".cache" / "pip",
        wheel,
    )
    where = run("python", "-c", "import wlanlens._core as core; print(core.__file__)").strip()
    assert Path(where).is_relative_to(tmp_path)
    told = run("wlanlens", "analyze", SAMPLES / "mixed_newreno.sender.pcap", "-o", tmp_path / "out")
    assert "retransmission" in told
    assert (tmp_path / "out" / "report.html").stat().st_size > 100_000
    run("wlanlens", "simulate", "--scenario", "ack_holding", "--set", "duration_s=3", "-o", tmp_path / "world")
    assert (tmp_path / "world" / "sender.pcap").stat().st_size > 10_000
    if python == _pythons()[0]:
        scored = run("wlanlens", "validate", "-s", "ack_holding", "--seeds", "2")
        assert "ack_holding" in scored


@pytest.mark.timeout(1500)
def test_the_bill_of_materials_names_each_part_with_its_licence(wheel: Path) -> None:
    assert wheel.is_file()  # `make wheel` has installed the tools
    told = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tools.release.sbom"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    parts = json.loads(told.stdout)["components"]
    assert {"pyo3", "arrow-array", "numpy", "pyarrow", "scapy"} <= {part["name"] for part in parts}
    assert [part["name"] for part in parts if not part.get("licenses")] == []
