"""The command line as a user sees it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from wlanlens_cli import main
from wlanlens_cli.main import COMMANDS

from tests.captures import CLEAN, MIXED, conversation, pcap
from tests.warm import completed

Run = Callable[..., subprocess.CompletedProcess[bytes]]
WLANLENS = [sys.executable, "-m", "wlanlens_cli.main"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def go(
        *arguments: object, env: dict[str, str] | None = None, **options: object
    ) -> subprocess.CompletedProcess[bytes]:
        if not options:
            done = completed(tmp_path, *arguments, **{"COLUMNS": "80"} | (env or {}))
            return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.encode(), done.stderr.encode())
        words = [*WLANLENS, *(a if isinstance(a, bytes) else str(a) for a in arguments)]
        environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80", **(env or {})}
        return subprocess.run(
            words, check=False, capture_output=True, cwd=tmp_path, env=environment, timeout=120, **options
        )  # type: ignore

    return go


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cli") / "mixed"
    subprocess.run([*WLANLENS, "analyze", str(MIXED), "-o", str(out), "--quiet"], check=True, timeout=120)
    return out


def test_help_names_every_command(run: Run) -> None:
    done = run("--help")
    assert done.returncode == 0
    assert b"..." not in done.stdout.split(b"Commands:")[1]
    for command in COMMANDS:
        assert command.encode() in done.stdout
        assert run(command, "--help").returncode == 0


def test_an_unknown_command_names_the_nearest(run: Run) -> None:
    assert "did you mean 'analyze'?" in run("analise").stderr.decode()


def test_analyze_prints_verdict_and_paths(run: Run, tmp_path: Path) -> None:
    done = run("analyze", MIXED, "-o", "out")
    text = done.stdout.decode()
    assert done.returncode == 0
    assert done.stderr == b""
    assert text.splitlines()[0].startswith("192.0.2.1:40000 > 192.0.2.2:5001 took 5.22 s for 1.8 MB (2.76 Mbit/s); ")
    assert "5 retransmission timeouts" in " ".join(text.split())
    assert "Report     out/report.html" in text
    whole = " ".join(text.split())
    assert "Without this (packet loss): " in whole
    assert "Remedy Link that loses the packets: " in whole
    assert "Estimate None of these packets would have been lost" in whole
    assert all(len(line) <= 80 and line == line.rstrip() for line in text.splitlines())
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"analysis.json", "findings.json", "report.html", "tables"}
    assert (tmp_path / "out" / "report.html").read_text().rstrip().endswith("</html>")


def test_default_out_is_the_captures_name(run: Run, tmp_path: Path) -> None:
    assert run("analyze", CLEAN, "--quiet").stdout == b""
    assert (tmp_path / "clean_cubic.sender.wlanlens" / "tables" / "packets" / "part-00000.parquet").exists()


def test_json_has_the_verdict_and_the_states(run: Run) -> None:
    found = json.loads(run("analyze", MIXED, "--json", "--no-report").stdout)
    assert found["verdict"]["duration_s"] == pytest.approx(5.2158, abs=0.01)
    assert sum(found["verdict"]["categories_ns"].values()) == pytest.approx(found["verdict"]["duration_s"] * 1e9)
    assert found["report"] is None
    assert {d["state"] for d in found["detectors"]} <= {"found", "fine", "not_run", "undecided", "failed"}
    assert "failed" not in {d["state"] for d in found["detectors"]}


def test_standard_input_and_compression(run: Run, tmp_path: Path) -> None:
    import gzip

    done = run("analyze", "-", "-o", "out", "--json", input=gzip.compress(CLEAN.read_bytes()))
    assert json.loads(done.stdout)["captures"][0]["compression"] == "gzip"
    assert (
        json.loads(done.stdout)["tables"]["packets"]["rows"]
        == json.loads((tmp_path / "out/analysis.json").read_text())["captures"][0]["records"]
    )


def test_fail_on(run: Run) -> None:
    assert run("analyze", MIXED, "--fail-on", "spurious_timeout", "--quiet").returncode == 1
    assert run("analyze", MIXED, "--fail-on", "info", "--quiet").returncode == 1
    assert run("analyze", CLEAN, "--fail-on", "info", "--quiet").returncode == 0
    done = run("analyze", CLEAN, "--fail-on", "nonsense")
    assert done.returncode == 2
    assert b"nonsense" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["analyze"], 2, "no capture given"),
        (["analyze", "missing.pcap"], 3, "missing.pcap: No such file or directory"),
        (["analyze", MIXED, "--only", "nonsense"], 2, "unknown detector 'nonsense'"),
        (["analyze", MIXED, CLEAN], 3, "no packet in common"),
        (["nonsense"], 2, "no such command"),
        (["analyze", "."], 3, ".: Is a directory; name a capture in it"),
        (["simulate", "-s", "clean_link", "-o", MIXED], 3, "the output directory is a file"),
        (["query", "nowhere", "select 1"], 3, "no such directory"),
        (["report", MIXED], 3, "a file, not an analysed directory"),
        (["report", "."], 3, "not an analysed directory"),
        (["show", MIXED, "99999"], 2, "no packet 99999"),
    ],
)
def test_errors_are_one_line(run: Run, arguments: list[object], status: int, text: str) -> None:
    done = run(*arguments)
    assert done.returncode == status
    assert text in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


def test_a_hostile_file_name_is_escaped(run: Run, tmp_path: Path) -> None:
    name = b"\x1b[2Jcaf\xe9\n.pcap"
    (tmp_path / os.fsdecode(name)).write_bytes(b"nonsense")
    done = run("analyze", name)
    assert done.returncode == 3
    assert b"\x1b" not in done.stderr
    assert b"\\x1b[2Jcaf\\xe9\\x0a.pcap" in done.stderr
    (tmp_path / os.fsdecode(name)).write_bytes(conversation())
    done = run("analyze", name, "-o", "out", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout + done.stderr


def test_no_packets(run: Run, tmp_path: Path) -> None:
    done = run("analyze", "-", "-o", "out", input=pcap([]))
    assert done.returncode == 0
    assert done.stdout.startswith(b"The capture holds no packets.")
    assert b"1970" not in (tmp_path / "out" / "report.html").read_bytes()


def test_show_prints_rows_after_the_dissection(run: Run) -> None:
    text = run("show", MIXED, 5).stdout.decode()
    assert "###[ TCP ]###" in text
    assert re.search(r"sport\s+= 40000", text)
    assert re.search(r"^packets$", text, re.M)
    assert re.search(r"transmission +first", text)
    assert re.search(r"time +2026-11-20 12:45:46\.271987000 UTC", text)


def test_query(run: Run, analysed: Path) -> None:
    count = "SELECT kind, count(*) AS n FROM timeouts GROUP BY kind"
    assert "genuine" in run("query", analysed, count).stdout.decode()
    assert b"kind,n\r\n" in run("query", analysed, count, "--format", "csv").stdout
    rows = [json.loads(line) for line in run("query", analysed, count, "--format", "json").stdout.splitlines()]
    assert sum(row["n"] for row in rows) == 5


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY (SELECT 1) TO 'stolen.csv'",
        "ATTACH 'other.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SELECT * FROM glob('/etc/*')",
    ],
)
def test_query_reads_only_the_tables(run: Run, analysed: Path, tmp_path: Path, sql: str) -> None:
    done = run("query", analysed, sql)
    assert done.returncode == 3
    assert b"root:" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_cell_of_csv_is_inert() -> None:
    from wlanlens.formatting import inert_cell as cell

    assert cell("=1+1") == "'=1+1"
    assert cell("\t=1") == "'\\x09=1"
    assert cell(-5) == "-5"
    assert cell(None) == ""


@pytest.mark.parametrize(
    "words",
    [
        ["analyze", MIXED, "--fail-on", "\x1b[31mred"],
        ["simulate", "-s", "clean_link", "--set", "\x1b[31mred"],
        ["\x1b[31mred"],
        ["analyze", "--\x1b[31mred"],
    ],
)
def test_no_argument_reaches_the_terminal_raw(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main.run([str(word) for word in words]) == main.USAGE
    # The escape is spelled out, not stripped as click does where the output is no terminal.
    assert "x1b[31mred" in capsys.readouterr().err


@pytest.mark.parametrize("out", [[], ["-o", b"out\xff"]])
def test_names_that_are_not_utf_8(run: Run, tmp_path: Path, out: list[object]) -> None:
    path = os.fsencode(tmp_path) + b"/bad\xff.pcap"
    with open(path, "wb") as file:
        file.write(CLEAN.read_bytes())
    done = run("analyze", path, "--no-report", *out)
    if out:
        assert done.returncode == 3
        assert b"name is not UTF-8" in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "bad\ufffd.wlanlens" / "analysis.json").exists()


def test_evidence_replaces_only_pcapng(run: Run, analysed: Path) -> None:
    before = (analysed / "analysis.json").read_bytes()
    done = run("evidence", analysed, 1, "-o", analysed / "analysis.json")
    assert done.returncode == 2
    assert b"it exists and is no pcapng file" in done.stderr
    assert (analysed / "analysis.json").read_bytes() == before
    for _ in range(2):
        assert run("evidence", analysed, 1).returncode == 0


def test_evidence_opens_in_wireshark_with_comments(run: Run, analysed: Path, tmp_path: Path) -> None:
    done = run("evidence", analysed, 1, "-o", tmp_path / "e.pcapng")
    assert done.returncode == 0, done.stderr
    findings = json.loads((analysed / "findings.json").read_text())
    wanted = sorted({row for e in findings["findings"][0]["evidence"] for row in e["rows"]})
    from dpkt import pcapng

    with open(tmp_path / "e.pcapng", "rb") as file:
        times = [round(time_s * 1e6) for time_s, _ in pcapng.Reader(file)]
    assert len(times) == len(wanted)
    assert findings["findings"][0]["code"].encode() in (tmp_path / "e.pcapng").read_bytes()
    assert run("evidence", analysed, 999).returncode == 2


def test_the_report_can_be_written_again(run: Run, analysed: Path) -> None:
    before = (analysed / "report.html").read_bytes()
    (analysed / "report.html").unlink()
    assert run("report", analysed).returncode == 0
    assert len((analysed / "report.html").read_bytes()) == pytest.approx(len(before), rel=0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_while_a_pipe_is_silent(tmp_path: Path, number: signal.Signals) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*WLANLENS, "analyze", str(pipe), "-o", str(tmp_path / "out")], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with open(pipe, "wb", buffering=0) as writer:
        writer.write(conversation()[:200])
        time.sleep(1)
        process.send_signal(number)
        start = time.monotonic()
        out, err = process.communicate(timeout=10)
    assert time.monotonic() - start < 5
    assert process.returncode == 128 + number
    assert out == err == b""
    assert not (tmp_path / "out").exists()


def test_stdout_closed() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*WLANLENS, "list", "formats"], stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writer)
    assert done.returncode in (0, 141)
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "wlanlens: out of memory\n"),
        (RuntimeError("can't start new thread"), "wlanlens: out of memory\n"),
        (ImportError("libarrow.so: failed to map segment from shared object"), "wlanlens: out of memory\n"),
        (RuntimeError("no thread"), "wlanlens: a bug in wlanlens: RuntimeError: no thread"),
    ],
)
def test_memory_that_ends_below_python_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, said: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(main.cli, "main", fail)
    assert main.run(["list"]) == 3
    assert capsys.readouterr().err.startswith(said)
