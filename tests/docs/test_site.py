"""`make site`: builds without warnings, and every page reads without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.captures import ROOT
from tests.docs import blocks
from wlanlens import operating_system


@pytest.fixture(scope="module")
def site() -> Path:
    """The documentation as HTML; nothing is built again if no page is newer."""
    for needed in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(needed, reason=f"{needed} is not installed (make site installs it)")
    out = ROOT / "build" / "site"
    (ROOT / "build").mkdir(exist_ok=True)
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", ROOT / "docs", out]
    held = os.open(ROOT / "build", os.O_RDONLY)
    try:
        operating_system.lock(held, wait=True)
        built = subprocess.run(
            words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    finally:
        os.close(held)
    assert built.returncode == 0, built.stdout
    return out


def test_each_page_is_there(site: Path) -> None:
    pages = [path.relative_to(ROOT / "docs") for path in blocks.pages() if path.is_relative_to(ROOT / "docs")]
    assert len(pages) > 40
    assert [page for page in pages if not (site / page.with_suffix(".html")).is_file()] == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"""(?:src|href)=["'](https?:)?//[^"']+["'][^>]*>|@import|url\(["']?https?:""")
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        for found in loaded.finditer(path.read_text(encoding="utf-8")):
            around = path.read_text(encoding="utf-8")[max(0, found.start() - 200) : found.start()]
            assert around.rstrip().endswith("<a") or re.search(r"<a [^>]*$", around), f"{path.name}: {found[0]}"


def test_search_works_from_files(site: Path) -> None:
    assert "Search.setIndex" in (site / "searchindex.js").read_text(encoding="utf-8")
