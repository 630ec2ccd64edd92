"""Generated pages are fresh, and pages and comments name things that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import wlanlens
from tests.captures import ROOT
from tests.pages import every_page as pages


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
        targets = re.findall(r"\bmake ([a-z][a-z-]+)", "\n".join(_code(page)))
        assert targets, page
        for target in targets:
            assert re.search(rf"^{target}:", makefile, re.M), f"{page}: make {target}"


def test_names_of_the_api_in_the_pages_exist() -> None:
    names = {page: re.findall(r"\bwl\.([a-z_]+)", "\n".join(_code(page))) for page in ("README.md", "CONTRIBUTING.md")}
    assert names["README.md"]
    for page, used in names.items():
        assert set(used) <= set(wlanlens.__all__), page


def _code(page: str) -> list[str]:
    """The parts of a page that are code: in backticks and in indented or fenced blocks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        *re.findall(r"```.*?```", text, re.S),
        *re.findall(r"`[^`\n]+`", text),
        *re.findall(r"^(?: {4}|\$ ).*$", text, re.M),
    ]


def test_no_file_names_a_page_that_is_not_in_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    if listed == [""]:
        pytest.skip("not a git checkout")
    kinds = (".py", ".rs", ".md", ".toml", ".js", ".jinja", ".css", ".tcl", "Makefile", "run")
    texts = [name for name in listed if name.endswith(kinds) and (ROOT / name).is_file()]
    assert len(texts) > 300
    there = {Path(name).name for name in listed}
    # FILE.md and NAME.md stand for a name of the reader's choice.
    named = re.compile(r"\b(?!FILE|NAME)[A-Z][A-Z-]{3,}\.md\b")
    odd = {
        name: gone for name in texts if (gone := set(named.findall((ROOT / name).read_text(encoding="utf-8"))) - there)
    }
    assert odd == {}
