"""Generated pages are fresh, and the README's promises name things that exist."""

from __future__ import annotations

import re

import pytest

import wlanlens
from tests.captures import ROOT
from tests.pages import pages


@pytest.mark.parametrize("name", list(pages()))
def test_page_is_fresh(name: str) -> None:
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == pages()[name], "run `make docs`"


def test_manifest_lists_every_sample() -> None:
    rows = (ROOT / "sample_traces" / "MANIFEST.tsv").read_text(encoding="utf-8").splitlines()
    assert all(row.count("\t") == rows[0].count("\t") for row in rows)
    listed = {row.split("\t")[0] for row in rows[1:]}
    assert listed == {path.name for path in (ROOT / "sample_traces").iterdir()} - {"MANIFEST.tsv"}


def test_make_targets_named_in_the_pages_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"`make ([a-z]+)", (ROOT / page).read_text(encoding="utf-8")):
            assert re.search(rf"^{target}:", makefile, re.M), f"{page}: make {target}"


def test_names_of_the_api_in_the_pages_exist() -> None:
    for page in ("README.md", "CONTRIBUTING.md"):
        for name in re.findall(r"\bwl\.([a-z_]+)", (ROOT / page).read_text(encoding="utf-8")):
            assert name in wlanlens.__all__, f"{page}: wl.{name}"
