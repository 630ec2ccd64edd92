"""Code blocks of README.md and docs/*.md, and how they are run.

```sh, ```console and ```python blocks of a page run in order, in one temporary folder with sample captures. In ```console
blocks the lines after `$ ` are commands and the others are their output; a line `...` stands for any lines. A block after a
line *Not run by the tests: REASON.* is not run; `python -m tests.docs.blocks` writes the list of these, and new outputs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.captures import ROOT, SAMPLES

RUN = ("sh", "console", "python")
#: Pages whose blocks are not run here: contents of files, and what tests/test_session.py runs.
OTHERWISE = ("CONTRIBUTING.md", "session.md")
_FENCE = re.compile(r"^```([a-z{}-]*)[^\n]*\n(.*?)^```$", re.M | re.S)
_NOT_RUN = re.compile(r"\*Not run by the tests: ([^*]+)\.\*\s*\Z")


class Block(NamedTuple):
    """A fenced block: its language, text, place in the page, and why it is not run ("" if it is)."""

    language: str
    text: str
    start: int
    end: int
    not_run: str


def pages() -> list[Path]:
    """The pages whose links are checked. Their blocks are run or listed, but for `OTHERWISE`."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a page."""
    found = []
    for one in _FENCE.finditer(text):
        reason = _NOT_RUN.search(text[: one.start()])
        why = " ".join(reason[1].split()) if reason else ""
        found.append(Block(one[1], one[2], one.start(2), one.end(2), why))
    return found


def prepare(folder: Path) -> None:
    """The files that the pages name: four captures of one transfer, one of the reader's own, a folder of captures."""
    for point in ("sender", "usb", "air", "receiver"):
        shutil.copy(SAMPLES / f"usb_ack_holding.{point}.pcap", folder / f"{point}.pcap")
    shutil.copy(SAMPLES / "mixed_newreno.sender.pcap", folder / "YOUR.pcap")
    shutil.copytree(SAMPLES, folder / "sample_traces")
    (folder / "captures").mkdir()
    for name, sample in (("lab1", "mixed_newreno"), ("lab2", "clean_cubic")):
        shutil.copy(SAMPLES / f"{sample}.sender.pcap", folder / "captures" / f"{name}.pcap")


def environment(folder: Path) -> dict[str, str]:
    """With wlanlens of this environment first on PATH, lines of 100 characters and no colours."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "TMPDIR": str(folder), "PYTHONWARNINGS": "default"}
    return {**os.environ, **own}


def run(command: str, folder: Path, python: bool = False) -> str:
    """Run shell commands or Python; returns standard output and error. A failure is an AssertionError."""
    words = [sys.executable, "-c", command] if python else ["bash", "-e", "-o", "pipefail", "-c", command]
    done = subprocess.run(
        words, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=280, check=False
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\nends with {done.returncode}: {done.stdout}"
    return done.stdout


def parts(text: str) -> list[tuple[str, str]]:
    """Of a console block: commands and the output that the page shows."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            command, shown = found[-1]
            found[-1] = (command, shown + line + "\n")
    return found


def plain(output: str) -> str:
    """Output without spaces at the ends of lines and empty lines at its end."""
    return "\n".join(line.rstrip() for line in output.rstrip().split("\n"))


def agrees(shown: str, output: str) -> bool:
    """Whether output is as shown; `...` stands for any lines."""
    pattern = r".*".join(re.escape(piece) for piece in re.split(r"^\.\.\.$", plain(shown), flags=re.M))
    return re.fullmatch(pattern, plain(output), re.S) is not None


def renewed(shown: str, output: str) -> str:
    """What the page should show: the output, cut to the lines that the page showed before its `...`."""
    lines = plain(output).split("\n")
    old = plain(shown).split("\n")
    if "..." in old:
        lines = [*lines[: old.index("...")], "...", *lines[len(lines) - (len(old) - old.index("...") - 1) :]]
    return "\n".join(lines) + "\n" if plain(output) else ""


def not_run_page() -> str:
    """docs/not_run.md: which commands of the pages no test runs, and why."""
    out = ["<!-- Made by `make docs`; a test fails when it is stale. -->", "", "# Commands that no test runs", ""]
    out += ["A test runs every other command of README.md and of these pages, on sample captures.", ""]
    out += ["| page | first line | reason |", "|---|---|---|"]
    for path in pages():
        for block in blocks(path.read_text(encoding="utf-8")):
            if block.language in RUN and block.not_run:
                first = block.text.split("\n")[0].removeprefix("$ ").split("  #")[0].strip().replace("|", "\\|")
                out.append(f"| {path.relative_to(ROOT)} | `{first}` | {block.not_run} |")
    return "\n".join(out) + "\n"


def main() -> None:
    """Write the outputs of console blocks again."""
    for path in pages():
        if path.name in OTHERWISE:
            continue
        text = path.read_text(encoding="utf-8")
        found = [block for block in blocks(text) if block.language in RUN and not block.not_run]
        if not any(block.language == "console" for block in found):
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepare(folder)
            new, at = "", 0
            for block in found:
                if block.language != "console":
                    run(block.text, folder, block.language == "python")
                    continue
                lines = [f"$ {command}\n{renewed(shown, run(command, folder))}" for command, shown in parts(block.text)]
                new += text[at : block.start] + "".join(lines)
                at = block.end
            path.write_text(new + text[at:], encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
