"""A container that another package adds in Python, found through its entry point: a toy format."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from wlanlens_cli.main import cli

import wlanlens as wl
from tests.captures import MIXED, conversation, pcap, tcp
from tests.parsers.toy import MAGIC, PACKET, START, Add, counts, packets_of, reads, record, toy, yields
from wlanlens import errors, registry, tables
from wlanlens.registry import CaptureFile, Container, RawRecord


def rows(capture: wl.Capture) -> dict[str, list[dict[str, Any]]]:
    """All tables without the capture's name."""
    names = [name for name in tables.core_schemas() if capture.has(name)]
    return {name: capture.table(name).drop_columns(["capture"]).to_pylist() for name in names}


def test_the_tables_are_those_of_the_same_packets_in_a_pcap(tmp_path: Path, add: Add) -> None:
    add()
    plain = conversation(count=3000)
    packets = packets_of(plain)
    for name, content in {"c.toy": toy(packets), "c.toy.gz": gzip.compress(toy(packets)), "c.pcap": plain}.items():
        (tmp_path / name).write_bytes(content)
    expected = wl.open(tmp_path / "c.pcap")
    for name, compression in (("c.toy", ""), ("c.toy.gz", "gzip")):
        found = wl.open(tmp_path / name)
        assert found.format == "toy"
        assert rows(found) == rows(expected)
        assert counts(found) == counts(expected)
        same = ("records", "other_records", "first_ns", "last_ns", "wire_bytes", "link_types")
        assert [found.info[key] for key in same] == [expected.info[key] for key in same]
        assert found.info["compression"] == compression
        wanted = [1, 2, 3000, 6003, 9999]
        assert [r[:5] for r in found.records(wanted)] == [r[:5] for r in expected.records(wanted)]
    # A record begins where its reader stood before it; the first includes the header of the file.
    assert [r.offset for r in wl.open(tmp_path / "c.toy").records([1, 2])] == [0, 5 + 18 + 40]


def test_analyze_finds_the_same(tmp_path: Path, add: Add) -> None:
    add()
    records = wl.open(MIXED).records(range(1, 100_000))
    content = [record(r.time_ns or 0, r.link_type, r.wire_bytes, r.data) for r in records]
    (tmp_path / "mixed.toy").write_bytes(MAGIC + b"".join(content))
    found = wl.analyze([tmp_path / "mixed.toy"], out=tmp_path / "out")
    expected = wl.analyze([MIXED], out=tmp_path / "expected")
    assert json.loads((tmp_path / "out/analysis.json").read_text())["captures"][0]["format"] == "toy"
    same = [(f.code, f.t_start_ns, f.t_end_ns, f.cost_s, f.values) for f in expected.findings]
    assert [(f.code, f.t_start_ns, f.t_end_ns, f.cost_s, f.values) for f in found.findings] == same
    assert same
    done = CliRunner().invoke(cli, ["evidence", str(tmp_path / "out"), "1"])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(cli, ["show", str(tmp_path / "mixed.toy"), "5"])
    assert done.exit_code == 0, done.output


def test_interface_and_direction_are_read(tmp_path: Path, add: Add) -> None:
    records = [(START, 101, 40, tcp(2, 1, 1, 1, 16), 1, True), (START + 1, 101, 40, tcp(1, 2, 1, 1, 16), 0, False)]
    add(yields(records))
    (tmp_path / "c.toy").write_bytes(MAGIC)
    capture = wl.open(tmp_path / "c.toy")
    assert capture.table("packets").num_rows == 2
    assert len(capture.info["interfaces"]) == 2


def test_a_pipe_is_read_once(tmp_path: Path, add: Add) -> None:
    add()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    packets = packets_of(conversation(count=100))
    writer = threading.Thread(target=lambda: pipe.write_bytes(toy(packets)))
    writer.start()
    assert wl.open(pipe).table("packets").num_rows == len(packets)
    writer.join()


def test_our_own_formats_are_not_shadowed(tmp_path: Path, add: Add) -> None:
    add(Container("all", __name__, "All files.", clock="none", sniff=lambda _: True, read=lambda _: []))
    (tmp_path / "c.pcap").write_bytes(conversation())
    assert wl.open(tmp_path / "c.pcap").format == "pcap"
    (tmp_path / "other").write_bytes(b"anything")
    assert counts(wl.open(tmp_path / "other")) == {"no_packets": 1}


def test_unknown_files_name_the_formats(tmp_path: Path, add: Add) -> None:
    add()
    (tmp_path / "text").write_bytes(b"hello, world\n")
    with pytest.raises(errors.UnknownFormat, match="netxray, pcap, pcapng, sniffer, toy, usbmon_text"):
        wl.open(tmp_path / "text")


def test_the_file_that_a_reader_gets(tmp_path: Path, add: Add) -> None:
    seen: list[Any] = []

    def read(file: CaptureFile) -> Iterator[RawRecord]:
        seen.extend([file.path, file.compression, file.tell(), file.readline(), file.readline(3), file.tell()])
        for wrong in (lambda: file.read(1 << 40), lambda: file.note("no such note"), lambda: file.read(-1)):
            with pytest.raises((ValueError, OverflowError)):
                wrong()
        seen.extend([file.read(4), file.readline(), file.read(10), file.readline(), file.tell()])
        yield RawRecord(START, 101, 40, PACKET)

    (tmp_path / "c.toy").write_bytes(MAGIC + b"a line\nlast")
    add(reads(read))
    assert wl.open(tmp_path / "c.toy").table("packets").num_rows == 1
    path = str(tmp_path / "c.toy")
    assert seen == [path, "", 0, MAGIC, b"a l", 8, b"ine\n", b"last", b"", b"", 16]


def test_notes_have_their_place(tmp_path: Path, add: Add) -> None:
    def read(file: CaptureFile) -> Iterator[RawRecord]:
        for i in range(5):
            if i == 3:
                file.note("bytes_skipped", 20)
            yield RawRecord(START + i, 101, 40, PACKET)
        file.note("trailing_bytes")

    (tmp_path / "c.toy").write_bytes(MAGIC)
    add(reads(read))
    notes = {note.name: (note.count, note.first_packet) for note in wl.open(tmp_path / "c.toy").notes}
    # The packets have no TCP checksum.
    assert notes == {"bytes_skipped": (20, 4), "checksum_unverified": (5, 1), "trailing_bytes": (1, 6)}


def test_each_of_our_containers_is_chosen_for_its_files() -> None:
    own = [found.name for found in registry.containers()]
    assert own == ["netxray", "pcap", "pcapng", "sniffer", "usbmon_text"]
    for found in registry.containers():
        assert found.clock
        assert found.tables
    assert {c.name: c.tables for c in registry.containers()}["usbmon_text"][0] == "urbs"


def test_opening_does_not_search_other_packages(tmp_path: Path) -> None:
    (tmp_path / "c.pcap").write_bytes(pcap([(START, PACKET)]))
    code = "import sys, wlanlens as wl; wl.open(sys.argv[1]); print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "c.pcap"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
