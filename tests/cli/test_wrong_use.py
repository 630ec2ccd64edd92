"""Wrong use ends with status 2, one prefix, and the nearest name that exists."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from wlanlens_cli.main import COMMANDS

from tests.captures import MIXED, samples
from tests.warm import completed

FOUR = samples()["usb_ack_holding"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["analise"], "'analyze'"),
        (["analyze", MIXED, "--onyl", "x"], "--only"),
        (["analyze", MIXED, "--only", "ack_holdin"], "'ack_holding'"),
        (["analyze", MIXED, "--fail-on", "ack_holdin"], "'ack_holding'"),
        (["batch", MIXED, "-o", "out", "--only", "ack_holdin"], "'ack_holding'"),
        (["validate", "-d", "ack_holdin"], "'ack_holding'"),
        (["validate", "-s", "clean_lnk"], "'clean_link'"),
        (["validate", "-s", "clean_link", "--set", "duratoin_s=1", "--seeds", "1", "-j", "1"], "'duration_s'"),
        (["validate", "--seeds", "x"], "1..50"),
        (["simulate", "-s", "clean_lnk"], "'clean_link'"),
        (["simulate", "-s", "clean_link", "--set", "duratoin_s=1"], "'duration_s'"),
        (["simulate", "-s", "clean_link", "--set", "duration_s=-1"], "the nearest is"),
        (["simulate", "-s", "clean_link", "--set", "duration_s=much"], "a number"),
        (["simulate", "-s", "clean_link", "--tap", "sendr"], "sender"),
        (["simulate", "-s", "clean_link", "--seeds", "x"], "1..50"),
        (["reproduce", "usb_ack_holdin"], "'usb_ack_holding'"),
        (["list", "detectros"], "'detectors'"),
        (["simulate", "-s", "clean_link", "--sweep", "duration_s"], "KEY=1..9:2"),
        (["evidence", "out", "spurious_timeout"], "number findings from 1"),
        (["batch", MIXED, "-o", "out", "-j", "x"], "'x' is not a whole number"),
        (["compare", "a", "--side", "b"], "NAME=DIR,DIR..."),
        (["analyze", MIXED, "-o", ""], "the name of the directory is empty"),
        (["simulate", "-s", "clean_link", "-o", ""], "the name of the directory is empty"),
        (["show", MIXED, "0"], "numbered from 1"),
        (["show", MIXED, "99999"], "no packet 99999"),
        (["query", MIXED], "'SQL'"),
        (["analyze", MIXED, "--key", "wpa-pks:00"], "wpa-psk"),
        (["analyze", MIXED, "--json", "--csv"], "not both"),
        ([], "Usage"),
    ],
)
def test_status_prefix_and_hint(tmp_path: Path, words: list[object], hint: str) -> None:
    done = completed(tmp_path, *words)
    assert done.returncode == 2, done.stderr
    assert done.stdout == "" or not words
    assert hint in done.stderr + done.stdout
    if words:
        lines = [line for line in done.stderr.splitlines() if "--key in the list" not in line]
        assert lines[0].startswith("wlanlens: ")
    else:
        assert "\nCommands:\n" in done.stderr
        assert "Error" not in done.stderr
    assert not any(path.is_dir() and any(path.iterdir()) for path in tmp_path.iterdir())


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_help_shows_summaries_whole(tmp_path: Path, columns: int) -> None:
    done = completed(tmp_path, "--help", COLUMNS=str(columns))
    text = " ".join(done.stdout.split())
    for summary in COMMANDS.values():
        assert summary in text
    assert "..." not in text.replace("COMMAND [ARGS]...", "")


def complete(line: str) -> list[str]:
    """What a shell offers for the last word of a line."""
    words = line.split(" ")
    environment = {
        **os.environ,
        "_WLANLENS_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "wlanlens_cli.start"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [item.partition(",")[2] for item in done.stdout.split()]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("wlanlens ana", ["analyze"]),
        ("wlanlens list det", ["detectors"]),
        ("wlanlens analyze --only stuck", ["stuck_rate"]),
        ("wlanlens analyze --fail-on ser", ["serious"]),
        ("wlanlens simulate -s ack_holding_over", ["ack_holding_over_usb"]),
        ("wlanlens simulate -s ack_holding --set hol", ["hold_s="]),
        ("wlanlens reproduce usb_cl", ["usb_clean_link"]),
    ],
)
def test_completion_knows_the_names(line: str, offered: list[str]) -> None:
    assert complete(line) == offered


def test_a_signal_during_the_imports_is_quiet(tmp_path: Path) -> None:
    """The entry point imports nothing heavy before its handler stands."""
    (tmp_path / "click.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(20)\n")
    done = subprocess.run(
        [sys.executable, "-m", "wlanlens_cli.start", "--help"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, b"", b"")


#: `validate` with a signal while C code imports, which makes another error of its exception or loses it.
LOST = """
import signal, sys, time
from wlanlens_cli import main
from wlanlens.validation import validate

def judged(*_words, **_options):
    try:
        signal.raise_signal(signal.SIGINT)
        time.sleep(5)
    except BaseException:
        if {lost}:
            pass
        else:
            raise SystemError("returned a result with an exception set")
    yield from iter(lambda: time.sleep(0.05), 1)

validate.validate = judged
sys.argv = ["wlanlens", "validate", "-j", "1", "--quiet"]
main.main()
"""


@pytest.mark.parametrize("lost", [True, False])
def test_a_signal_that_c_code_hides_still_stops(tmp_path: Path, lost: bool) -> None:
    code = LOST.format(lost=lost)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"bug" not in done.stderr


#: `reproduce` that a signal stops after its first experiment, and whose page takes longer than the signal is repeated.
SLOW_PAGE = """
import signal, sys, time
from wlanlens_cli import main
from wlanlens.reproduction import runner

def interrupted(chosen, lab):
    yield from whole(chosen[:1], lab)
    signal.raise_signal(signal.SIGINT)
    time.sleep(5)

def slow(*words):
    time.sleep(1.5)
    write(*words)

whole, write = runner.run, runner.write_page
runner.run, runner.write_page = interrupted, slow
sys.argv = ["wlanlens", "reproduce", "dcf_model_values", "--jobs", "1"]
main.main()
"""


def test_an_interrupted_reproduce_writes_its_page(tmp_path: Path) -> None:
    words = [sys.executable, "-c", SLOW_PAGE]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    assert (tmp_path / "reproduce.html").is_file()
    assert "dcf_model_values" in done.stdout


def test_show_finds_a_packet_of_a_directory(tmp_path: Path) -> None:
    assert completed(tmp_path, "analyze", MIXED, "-o", "one", "--no-report", "--quiet").returncode == 0
    assert completed(tmp_path, "analyze", *FOUR, "-o", "four", "--no-report", "--quiet").returncode == 0
    assert completed(tmp_path, "show", "one", 5).stdout == completed(tmp_path, "show", MIXED, 5).stdout
    ambiguous = completed(tmp_path, "show", "four", 3)
    assert ambiguous.returncode == 2
    assert "sender.pcap:3" in ambiguous.stderr
    import wlanlens as wl

    trace = wl.load(tmp_path / "four").trace
    rows = trace.table("links").to_pylist()
    numbers: dict[int, set[int]] = {}
    for i, row in enumerate(rows):
        for point in row["points"]:
            numbers.setdefault(point["packet"], set()).add(i)
    from wlanlens_cli import journey

    only = next(
        n for n in sorted(filter(None, numbers), reverse=True)
        if len({tuple(p) for c in trace.captures if (p := journey.places(trace, c.name, n))}) == 1
    )  # fmt: skip
    assert "stage" in completed(tmp_path, "show", "four", only).stdout
    assert "did you mean 'sender'?" in completed(tmp_path, "show", "four", "sendr:3").stderr


def test_nothing_is_cut_inside_a_word() -> None:
    from wlanlens.formatting import cut, printable

    text = "retransmission " * 50
    assert cut(text, 500).split() == ["retransmission"] * 33
    assert printable(text, 500) == " ".join(["retransmission"] * 33) + "..."
    assert cut("x" * 600, 500) == "x" * 500
    assert cut("short", 500) == "short"


def test_csv_of_the_findings(tmp_path: Path) -> None:
    import csv
    import io

    done = completed(tmp_path, "analyze", MIXED, "-o", "out", "--no-report", "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    import wlanlens as wl

    findings = wl.load(tmp_path / "out").findings
    assert [(row["code"], float(row["cost_s"])) for row in rows] == [(f.code, f.cost_s) for f in findings]
    assert [int(row["number"]) for row in rows] == list(range(1, len(findings) + 1))


#: Callbacks whose exceptions no code can catch.
UNCAUGHT = """
import sys, weakref
from wlanlens_cli import main

class Referred: ...

def callback(error):
    def fail(_):
        raise error
    return fail

def run(_):
    for error in (MemoryError(), main.Stopped(2), ValueError("said once")):
        referred = Referred()
        reference = weakref.ref(referred, callback(error))
        del referred
    # A function in Python would need memory for its frame, too.
    assert type(sys.unraisablehook) is type([].append)
    return 0

main.run = run
main.main()
"""


def test_what_no_code_can_catch_is_said_at_the_end_unless_memory_or_a_signal_explains_it() -> None:
    done = subprocess.run([sys.executable, "-c", UNCAUGHT], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert done.stderr.count("ValueError: said once") == 1
    assert "MemoryError" not in done.stderr
    assert "Stopped" not in done.stderr
