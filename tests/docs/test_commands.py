"""Every command of README.md and docs/ is run on sample captures, or its page says why it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.captures import ROOT
from tests.docs import blocks

PAGES = {
    str(path.relative_to(ROOT)): blocks.blocks(path.read_text(encoding="utf-8"))
    for path in blocks.pages()
    if path.name not in blocks.OTHERWISE
}
RUNNING = {
    name: found for name, found in PAGES.items() if any(b.language in blocks.RUN and not b.not_run for b in found)
}


def test_the_important_pages_run_commands() -> None:
    assert {"README.md", "docs/tutorial.md"} <= set(RUNNING)


@pytest.mark.parametrize("page", RUNNING)
def test_commands_do_what_the_page_says(page: str, tmp_path: Path) -> None:
    blocks.prepare(tmp_path)
    for block in RUNNING[page]:
        if block.language not in blocks.RUN or block.not_run:
            continue
        if block.language != "console":
            blocks.run(block.text, tmp_path, block.language == "python")
            continue
        for command, shown in blocks.parts(block.text):
            output = blocks.run(command, tmp_path)
            assert blocks.agrees(shown, output), f"{page}: {command}\n`make docs` writes:\n{output}"


@pytest.mark.parametrize("page", PAGES)
def test_no_block_with_commands_escapes(page: str) -> None:
    """A block that looks like commands is one: it is run, or marked."""
    for block in PAGES[page]:
        if block.language not in blocks.RUN and page != "docs/commands.md":
            looks = [
                line
                for line in block.text.splitlines()
                if line.startswith(("$ ", "wlanlens ", "make ", "pip ", "sudo "))
            ]
            assert not looks


def test_reasons_are_few() -> None:
    reasons = {b.not_run.split(" ")[0] for found in PAGES.values() for b in found if b.not_run}
    assert reasons <= {"needs", "builds"}


def test_output_is_compared() -> None:
    assert blocks.agrees("a\n...\nd\n", "a\nb\nc\nd\n")
    assert not blocks.agrees("a\n...\nd\n", "a\nb\nc\n")
    assert blocks.renewed("a\n...\nd\n", "1\n2\n3\n4\n") == "1\n...\n4\n"
