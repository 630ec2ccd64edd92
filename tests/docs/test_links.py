"""Links and pictures of the pages lead to something, and pictures are small."""

from __future__ import annotations

import fnmatch
import re
from functools import cache
from pathlib import Path

import pytest

from tests.captures import ROOT
from tests.docs import blocks
from tests.docs.cases import CASES
from tests.docs.screenshots import MOST_BYTES
from wlanlens import registry

PAGES = {str(path.relative_to(ROOT)): path for path in blocks.pages()}
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@cache
def anchors(path: Path) -> set[str]:
    """Names of headings, as GitHub and MyST make them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w -]", "", head.strip().lower()).replace(" ", "-") for head in heads}


def links(path: Path) -> list[str]:
    """Targets of links and pictures, without those in code."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return _LINK.findall(text)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    path = PAGES[page]
    for link in links(path):
        if link.startswith(("https://", "http://", "mailto:")):
            assert re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]+(/\S*)?", link), link
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.is_file(), f"{page}: {link}"
        assert target.is_relative_to(ROOT)
        if anchor:
            assert anchor in anchors(target), f"{page}: {link}"


def test_pictures_are_used_and_small() -> None:
    used = {(path.parent / link.split("#")[0]).resolve() for path in PAGES.values() for link in links(path)}
    there = list((ROOT / "docs").rglob("*.png"))
    assert len(there) > 10
    assert [path.name for path in there if path.resolve() not in used] == []
    assert {path.name: path.stat().st_size for path in there if path.stat().st_size > MOST_BYTES} == {}


def test_each_detector_has_a_case_and_a_picture() -> None:
    assert set(CASES) == set(registry.units("detectors"))


def test_pages_are_in_the_table_of_contents() -> None:
    for page, path in PAGES.items():
        if page.startswith("docs/") and page != "docs/index.md":
            above = path.parent if path.name != "index.md" else path.parent.parent
            listed = (above / "index.md").read_text(encoding="utf-8").split("\n")
            name = path.relative_to(above).with_suffix("").as_posix()
            assert any(fnmatch.fnmatch(name, line) for line in listed if line and not line.startswith("*")), page
