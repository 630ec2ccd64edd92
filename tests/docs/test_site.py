"""`make site`: builds without warnings, and every page reads without a network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.captures import ROOT
from tests.docs import blocks
from tests.made import make


@pytest.fixture(scope="module")
def site() -> Path:
    """The documentation as HTML."""
    for needed in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(needed, reason=f"{needed} is not installed (make site installs it)")
    make("site")
    return ROOT / "build" / "site"


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
