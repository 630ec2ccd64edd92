"""Which traces a batch has, what their folders are called, and which shard has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.captures import ROOT
from wlanlens.errors import WlanlensError
from wlanlens.pipeline.batch.run_names import in_shard, run_names, shard
from wlanlens.pipeline.batch.trace_files import find

SAMPLE = ROOT / "sample_traces" / "mixed_newreno.sender.pcap"


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def named(*sources: Path | str, **options: str) -> dict[str, list[str]]:
    return {trace.name: [c.shown for c in trace.captures] for trace in find(sources, **options).traces}


def test_a_folder_has_one_trace_per_capture(tmp_path: Path) -> None:
    put(tmp_path, "b.pcap", "day1/a.pcapng.gz", "day1/notes.txt", ".hidden.pcap", ".git/c.pcap")
    (tmp_path / "no_suffix").write_bytes(SAMPLE.read_bytes())
    listing = find([tmp_path])
    assert [trace.name for trace in listing.traces] == ["b", "day1/a", "no_suffix"]
    assert listing.left_out == 1


def test_results_and_the_output_are_not_searched(tmp_path: Path) -> None:
    put(
        tmp_path,
        "a.pcap",
        "a.wlanlens/analysis.json",
        "a.wlanlens/tables/x",
        "a.wlanlens/evidence-1.pcapng",
        "out/b.pcap",
    )
    assert list(named(tmp_path, out=str(tmp_path / "out"))) == ["a"]


def test_two_captures_with_one_stem_keep_their_suffixes(tmp_path: Path) -> None:
    put(tmp_path, "a.pcap", "a.pcapng", "b.pcap")
    assert list(named(tmp_path)) == ["a.pcap", "a.pcapng", "b"]


def test_a_glob_and_several_folders(tmp_path: Path) -> None:
    put(tmp_path, "x/a.pcap", "y/a.pcap", "y/b.pcap")
    assert list(named(tmp_path / "x", tmp_path / "y" / "a*")) == ["x/a", "y/a"]
    with pytest.raises(WlanlensError, match="no file matches"):
        find([tmp_path / "z*"])


def test_a_missing_capture_is_a_trace(tmp_path: Path) -> None:
    assert named(tmp_path / "gone.pcap") == {"gone": ["gone.pcap"]}


def test_a_pattern_joins_captures(tmp_path: Path) -> None:
    put(tmp_path, "d/one.sender.pcap", "d/one.air.pcap", "d/two.sender.pcap", "d/two.other.pcap")
    listing = find([tmp_path / "d"], pattern="{trace}.{point}.pcap")
    assert {t.name: [c.point for c in t.captures] for t in listing.traces} == {
        "one": ["air", "sender"],
        "two": ["sender"],
    }
    assert listing.left_out == 1
    assert list(named(tmp_path / "d", pattern="{trace}.sender.*")) == ["one", "two"]


@pytest.mark.parametrize("pattern", ["{point}.pcap", "{trace}{trace}", "{trace}.{point}.{point}"])
def test_a_pattern_needs_its_trace(tmp_path: Path, pattern: str) -> None:
    put(tmp_path, "a.pcap")
    with pytest.raises(WlanlensError, match="pattern"):
        find([tmp_path], pattern=pattern)


@pytest.mark.parametrize(("suffix", "tab"), [(".csv", ","), (".tsv", "\t")])
def test_a_manifest(tmp_path: Path, suffix: str, tab: str) -> None:
    lines = [
        ["trace", "capture", "point", "distance"],
        ["lab, 1", "a.pcap", "sender", "2"],
        ["lab, 1", "d/b.pcap", "air", "2"],
    ]
    lines.append(["two", str(tmp_path / "c.pcap"), "", ""])
    text = "\n".join(tab.join(f'"{cell}"' for cell in line) for line in lines)
    (tmp_path / f"all{suffix}").write_text("\ufeff" + text, encoding="utf-8")
    listing = find([tmp_path / f"all{suffix}"])
    assert [trace.name for trace in listing.traces] == ["lab, 1", "two"]
    one, two = listing.traces[0].captures
    assert (one.path, one.point) == (str(tmp_path / "a.pcap"), "sender")
    assert (two.path, two.shown, two.point) == (str(tmp_path / "d" / "b.pcap"), "d/b.pcap", "air")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("name,file\n", "no column 'trace'"),
        ("trace,capture,point\na,b.pcap,roof\n", "line 2 has the unknown capture point"),
        ("trace,capture\na,\n", "line 2 lacks"),
        ('trace,capture\n"a"x,b\n', "line 2 is not valid"),
        ("trace,capture\n", "there is no capture"),
    ],
)
def test_a_bad_manifest(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "m.csv").write_text(text, encoding="utf-8")
    with pytest.raises(WlanlensError, match=what):
        find([tmp_path / "m.csv"])


def test_folders_are_readable_and_different() -> None:
    hostile = [
        "a/b",
        "a__b",
        "../../etc/passwd",
        "..",
        "A/b",
        "-rf",
        "x\x1b[2J",
        os.fsdecode(b"caf\xe9"),
        "n" * 300,
        "e. ",
        "\u202e",
    ]
    names = run_names(["plain", "with space", "day1/lab", *hostile])
    assert [names[name] for name in ("plain", "with space", "day1/lab")] == ["plain", "with space", "day1__lab"]
    assert len({name.casefold() for name in names.values()}) == len(names)
    for name in names.values():
        assert "/" not in name
        assert name.isprintable()
        assert not name.startswith((".", "-"))
        assert 0 < len(name.encode()) < 200
        assert name == name.strip(" .")


def test_a_trace_keeps_its_folder_when_others_come() -> None:
    alone = run_names(["day1/lab"])["day1/lab"]
    assert run_names(["day1/lab", "x", "\x00"])["day1/lab"] == alone


def test_shards_share_the_traces() -> None:
    names = [f"trace{n}" for n in range(1000)]
    shards = [[name for name in names if in_shard(name, k, 7)] for k in range(1, 8)]
    assert sorted(name for part in shards for name in part) == sorted(names)
    assert min(map(len, shards)) > 80
    assert shard("3/64") == (3, 64)
    for wrong in ("0/3", "4/3", "3", "a/b", "1/0", "-1/2"):
        with pytest.raises(WlanlensError, match="shard"):
            shard(wrong)
