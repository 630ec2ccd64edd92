"""Scenarios that cannot be: a clear error that names the nearest valid value, in bounded time and memory, and no file
that could be taken for a whole one."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import wlanlens as wl
from tests.simulation.dissection import first_fault, installed
from tests.warm import completed
from wlanlens.errors import OutputError, WlanlensError
from wlanlens.registry import units
from wlanlens.simulation.scenario import Scenario, ScenarioKind, find
from wlanlens.simulation.simulate import MARK, _locked, _run
from wlanlens.simulation.sweep_dataset import TABLES, parts

NAMES = sorted(units("scenarios"))
COMMAND = [sys.executable, "-m", "wlanlens_cli.main", "simulate"]


def numbers(name: str) -> dict[str, Any]:
    """The numeric parameters of a scenario."""
    return {k: f for k, f in find(name).parameters.items() if type(f.default) in (int, float)}


def run(*words: str, preexec_fn: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    """`wlanlens simulate WORDS`; a limit of the process needs one of its own from the start."""
    if preexec_fn is None:
        return completed(Path.cwd(), "simulate", *words)
    return subprocess.run(
        [*COMMAND, *words], check=False, capture_output=True, text=True, timeout=120, preexec_fn=preexec_fn
    )


def refused(done: subprocess.CompletedProcess[str], status: int = 3) -> str:
    """The one line that was said."""
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith("wlanlens: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert "bug in wlanlens" not in done.stderr
    return done.stderr


def nothing_whole(folder: Path) -> bool:
    return not folder.exists() or not [p for p in folder.rglob("*") if p.is_file()]


@pytest.mark.parametrize("name", NAMES)
def test_every_quantity_has_bounds_and_says_the_nearest(name: str) -> None:
    for key, f in numbers(name).items():
        least, most = f.metadata["least"], f.metadata["most"]
        assert least is not None, f"{name}.{key} has no least value"
        assert most is not None, f"{name}.{key} has no greatest value"
        assert least <= f.default <= most
        for value, nearest in (
            (least - 1 - abs(least), least), (most + 1 + abs(most), most), (10**400, most), (-(10**400), least),
        ):  # fmt: skip
            with pytest.raises(WlanlensError, match=f"{key} must be .*the nearest is") as error:
                find(name).make({key: value})
            assert error.value.next == f"the nearest is {nearest:.12g}"
        for word in ("nan", "", "soon", "1,5", None, [], {}, True):
            with pytest.raises(WlanlensError, match=f"{key} must be"):
                find(name).make({key: word})


@pytest.mark.parametrize("name", NAMES)
def test_words_are_among_those_known(name: str) -> None:
    for key, f in find(name).parameters.items():
        if type(f.default) is str:
            assert f.metadata["among"], f"{name}.{key} does not say what it may be"
            with pytest.raises(WlanlensError, match=rf"{key} must be one of .*did you mean"):
                find(name).make({key: "vegas"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no scenario given"),
        ("scenario = 5", "no scenario 5"),
        ('scenario = ["clean_link"]', "no scenario"),
        ('scenario = "clean_lnk"', "did you mean 'clean_link'"),
        ('scenario = "clean_link"\nduration_s = -1', "the nearest is 0.001"),
        ('scenario = "clean_link"\nduration_s = nan', "the nearest is 10"),
        ('scenario = "clean_link"\nduration_s = inf', "the nearest is 1000000"),
        ('scenario = "clean_link"\nduration_s = 1979-05-27', "must be a number"),
        ('scenario = "clean_link"\nrate_mps = 11', "did you mean 'rate_mbps'"),
        ('scenario = "clean_link"\nseed = 1.5', "seed must be a whole number"),
        ('scenario = "clean_link"\nseed = -1', "the nearest is 0"),
        ('scenario = "clean_link"\nseed = 9223372036854775808', "the nearest is 9223372036854775807"),
        ('scenario = "clean_link"\nscenario = "clean_link"', "not a scenario in TOML"),
        ('scenario = "clean_link"\n[tcp]\nmss_bytes = 0', "no parameter 'tcp'"),
        ("= 5", "not a scenario in TOML"),
        ("x = " + "[" * 5000, "not a scenario in TOML"),
        ("x = " + "9" * 5000, "not a scenario in TOML"),
        ("\x00\x01", "not a scenario in TOML"),
        ("# " + "x" * (1 << 20), "longer than"),
    ],
)
def test_nonsense_in_a_scenario_file(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    done = run("--file", str(path), "-o", str(tmp_path / "out"))
    assert done.returncode in (2, 3)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "bug in wlanlens" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_scenario_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(bytes(range(128, 256)))
    assert "not a scenario in TOML" in refused(run("--file", str(tmp_path / "binary")), 2)
    assert "longer than" in refused(run("--file", "/dev/zero"), 2)
    assert "No such file" in refused(run("--file", str(tmp_path / "absent")))
    assert "Is a directory" in refused(run("--file", str(tmp_path)))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "duration_s"], "expected KEY=VALUE"),
        (["--set", "rate_mbps=-11"], "the nearest is 1"),
        (["--set", "rate_mbps=1e999"], "the nearest is 54"),
        (["--set", "receive_window_bytes=1448.5"], "must be a whole number"),
        (["--set", "receive_window_bytes=0"], "the nearest is 1448"),
        (["--seed", "-3"], "the nearest is 0"),
        (["--tap", "moon"], "has no tap 'moon'"),
        (["--sweep", "rate_mbps=1..0"], "for example"),
        (["--sweep", "rate_mbps"], "expected KEY=VALUE"),
        (["--sweep", "rate_mbps=1,-1"], "the nearest is 1"),
        (["--seeds", "1..10000000"], "are possible"),
        (["--seeds", "1..1000", "--sweep", "duration_s=1..100000"], "are possible"),
    ],
)
def test_nonsense_on_the_command_line(words: list[str], said: str, tmp_path: Path) -> None:
    done = run("--scenario", "clean_link", "-o", str(tmp_path / "out"), *words)
    assert done.returncode in (2, 3)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))


def test_a_thousand_million_packets_are_refused(tmp_path: Path) -> None:
    words = ["--set", "duration_s=1e6", "--set", "receive_window_bytes=1073741824"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    # Without a tap: its capture would have 2.7 GB before the run is refused.
    said = refused(
        run("-s", "clean_link", "--tap", "none", "-o", str(tmp_path / "out"), *words, preexec_fn=limit_memory), 2
    )
    assert "more than 10 million packets and frames within" in said
    assert "the nearest duration_s is" in said
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert max(before, peak) < 4 << 20  # KiB
    assert not (tmp_path / "out").exists()


def limit_file_size() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))


def test_a_full_disk(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["-s", "clean_link", "--set", "duration_s=3", "-o", str(out)]
    said = refused(run(*words, preexec_fn=limit_file_size))
    assert "File too large" in said
    assert nothing_whole(out)
    # What a run before wrote stays as it was.
    assert run("-s", "clean_link", "--set", "duration_s=0.1", "-o", str(out)).returncode == 0
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    refused(run(*words, preexec_fn=limit_file_size))
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


def test_a_full_disk_in_a_sweep_keeps_what_was_done(tmp_path: Path) -> None:
    words = ["-s", "clean_link", "--sweep", "duration_s=0.1,5", "-o", str(tmp_path / "out"), "-j", "1"]
    assert "File too large" in run(*words, preexec_fn=limit_file_size).stderr
    folders = sorted(p for p in (tmp_path / "out").iterdir() if p.is_dir())
    assert [p.name for p in folders] == ["duration_s=0.1,seed=1", *TABLES]
    assert (folders[0] / MARK).exists()
    assert all(len(paths) == 1 for paths in parts(tmp_path / "out").values())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_every_byte_of_a_capture_counts() -> None:
    # A device that takes nothing: the error comes from the last flush, too.
    made = find("clean_link").make({"duration_s": 0.01})
    with pytest.raises(OSError, match="No space left"):
        _run(made, 1, made.world(), {"sender": FullDisk()}, None, ledger=False)  # type: ignore[dict-item]


class FullDisk:
    """A path whose `.partial` is /dev/full."""

    def __str__(self) -> str:
        return str(_full_link())


def _full_link() -> Path:
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="wlanlens-full-"))
    (folder / "sender.pcap.partial").symlink_to("/dev/full")
    return folder / "sender.pcap"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    words = ["-s", "clean_link", "--set", "duration_s=0.1", "-o"]
    refused(run(*words, str(tmp_path / "file")))
    refused(run(*words, str(tmp_path / "file" / "below")))
    refused(run(*words, "/proc/wlanlens"))
    refused(run(*words, "a\x00b".replace("\x00", "\n" * 300)))
    assert (tmp_path / "file").read_text() == "mine"
    if os.geteuid() != 0:
        (tmp_path / "closed").mkdir(mode=0o500)
        assert "Permission denied" in refused(run(*words, str(tmp_path / "closed")))


def test_another_run_leaves_nothing_of_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    wl.simulate("clean_link", tmp_path, duration_s=0.1)
    wl.simulate("clean_link", tmp_path, duration_s=0.1, taps=("sender",))
    assert not (tmp_path / "air.pcap").exists()
    assert (tmp_path / "sender.pcap").exists()
    assert (tmp_path / "mine.txt").exists()
    assert json.loads((tmp_path / MARK).read_text())["scenario"] == "clean_link"


@pytest.mark.parametrize("name", ["sender.pcap", "truth.json", MARK])
def test_files_of_others_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"scenario": "mine"}')
    with pytest.raises(OutputError, match=f"holds {name}, which wlanlens did not write"):
        wl.simulate("clean_link", tmp_path, duration_s=0.1)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".simulating-abc").mkdir()
    (tmp_path / ".simulating-abc" / "sender.pcap").write_text("half")
    wl.simulate("clean_link", tmp_path, duration_s=0.1)
    assert not list(tmp_path.glob(".*"))


def test_two_runs_in_one_directory(tmp_path: Path) -> None:
    wl.simulate("clean_link", tmp_path, duration_s=0.1)
    with _locked(tmp_path), pytest.raises(OutputError, match="another wlanlens"):
        wl.simulate("clean_link", tmp_path, duration_s=0.1)
    wl.simulate("clean_link", tmp_path, duration_s=0.1)


@pytest.mark.parametrize(
    ("setting", "said"), [("seed=5", "use --seed"), ("taps=air", "no parameter 'taps'"), ("out=x", "no parameter")]
)
def test_settings_that_are_no_parameters(tmp_path: Path, setting: str, said: str) -> None:
    done = run("-s", "clean_link", "--set", setting, "-o", str(tmp_path / "out"))
    assert done.returncode in (2, 3)
    assert said in done.stderr
    assert "bug in wlanlens" not in done.stderr


def test_a_truth_that_fails_leaves_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("no truth")

    monkeypatch.setattr(Scenario, "truth", fail)
    with pytest.raises(RuntimeError, match="no truth"):
        wl.simulate("clean_link", tmp_path / "out", duration_s=0.1)
    assert not (tmp_path / "out").exists()


def values_of(f: Any) -> st.SearchStrategy[Any]:
    """Any value that a quantity may have: its ends, its default, and what is between, on a scale of lengths too."""
    kind, meta = type(f.default), f.metadata
    if kind is bool:
        return st.booleans()
    if meta["among"]:
        return st.sampled_from(meta["among"])
    least, most = meta["least"], meta["most"]
    if kind is int:
        return st.sampled_from([least, most, f.default]).map(int) | st.integers(int(least), int(most))
    near = st.floats(max(least, f.default - abs(f.default) / 2), min(most, f.default + 3 * abs(f.default)))
    return st.sampled_from([float(least), float(most), f.default]) | near | st.floats(least, most)


#: Simulated time of a random world: long enough that all its parts have their turn.
SECONDS = 0.3


@pytest.mark.parametrize("name", NAMES)
@settings(
    max_examples=int(os.environ.get("WLANLENS_EXAMPLES", "1")), deadline=None, derandomize=True,
    phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(data=st.data())
def test_any_values_within_bounds_make_a_run_or_a_clear_error(name: str, data: st.DataObject) -> None:
    kind = find(name)
    chosen = {key: data.draw(values_of(f), key) for key, f in kind.parameters.items() if key != "duration_s"}
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        try:
            made = wl.simulate(name, folder, duration_s=SECONDS, **chosen)
        except WlanlensError as error:
            said, left = str(error), list(Path(folder).iterdir())
        else:
            said, left = "", []
        assert not left
        if said:
            assert name in said
            return
        for point, path in made.captures.items():
            capture = wl.open(path)
            rows = sum(capture.table(t).num_rows for t in ("packets", "frames", "urbs") if capture.has(t))
            assert rows or path.stat().st_size == 24, f"{point} has bytes but no rows"
            assert not [n for n in capture.notes if n.severity == "error"], point
        if installed():
            assert first_fault(made.captures.values(), Path(folder)) == ""


def test_scenarios_are_classes_of_quantities() -> None:
    for name in NAMES:
        kind = units("scenarios")[name]
        assert isinstance(kind, ScenarioKind)
        for key, f in kind.parameters.items():
            assert type(f.default) in (bool, int, float, str), f"{name}.{key}"
