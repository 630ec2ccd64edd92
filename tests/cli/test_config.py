"""Thresholds of detectors from TOML files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import MIXED, sample
from tests.warm import completed
from wlanlens.detection import thresholds
from wlanlens.errors import NoSuchUnit, WrongUse

#: More loss than there is in the sample: with it packet_loss finds nothing.
NONE = "[{}thresholds.packet_loss]\nmin_lost_packets = 1000\n"


def analyse(folder: Path, *words: object) -> tuple[set[str], dict[str, object], str]:
    """Codes of the findings, the thresholds in analysis.json, and what was printed."""
    done = completed(folder, "analyze", MIXED, "-o", "out", "--no-report", *words)
    assert done.returncode == 0, done.stderr
    codes = {finding.code for finding in wl.load(folder / "out").findings}
    return codes, json.loads((folder / "out" / "analysis.json").read_text())["thresholds"], done.stdout


def test_a_file_changes_what_is_found(tmp_path: Path) -> None:
    codes, written, _ = analyse(tmp_path)
    assert "packet_loss" in codes
    assert written == {}
    (tmp_path / "lens.toml").write_text(NONE.format(""))
    codes, written, printed = analyse(tmp_path, "--config", "lens.toml")
    assert "packet_loss" not in codes
    assert written == {"packet_loss": {"min_lost_packets": 1000}}
    assert "packet_loss.min_lost_packets=1000" in printed


def test_the_project_of_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert analyse(tmp_path)[1] == {}
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n" + NONE.format("tool.wlanlens."))
    codes, written, _ = analyse(tmp_path)
    assert "packet_loss" not in codes
    assert written == {"packet_loss": {"min_lost_packets": 1000}}
    (tmp_path / "own.toml").write_text("")
    assert analyse(tmp_path, "--config", "own.toml")[1] == {}


def test_the_library_takes_them_too() -> None:
    trace = sample(MIXED.stem)
    assert wl.detect(trace, only=["packet_loss"])
    assert wl.detect(trace, only=["packet_loss"], thresholds={"packet_loss": {"min_lost_packets": 1000}}) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[thresholds.packet_los]\nmin_lost_packets = 1\n", "did you mean 'packet_loss'?"),
        ("[thresholds.packet_loss]\nmin_lost_packet = 1\n", "did you mean 'min_lost_packets'?"),
        ("[threshold.packet_loss]\nmin_lost_packets = 1\n", "did you mean 'thresholds'?"),
        ("[thresholds.packet_loss]\nmin_lost_packets = 1.5\n", "a whole number"),
        ("[thresholds.packet_loss]\nmin_lost_packets = true\n", "a whole number"),
        ("[thresholds.packet_loss]\nmin_lost_packets = -1\n", "at least 0"),
        ("[thresholds.ack_loss]\ndoubt_share = 1.5\n", "from 0 to 1"),
        ("[thresholds.ack_loss]\ndoubt_share = nan\n", "a number"),
        ("[thresholds.periodic_loss]\nhalf_widths_share = 0.1\n", "a list of numbers"),
        ("[thresholds]\npacket_loss = 3\n", "a table of names and values"),
        ("thresholds = 3\n", "must be tables"),
        ("[thresholds\n", "not TOML"),
    ],
)
def test_what_does_not_fit_is_wrong_use(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "lens.toml"
    path.write_text(text)
    with pytest.raises(WrongUse, match=r"lens\.toml") as error:
        thresholds.from_file(path)
    assert said in str(error.value)


def test_the_command_line_ends_with_2(tmp_path: Path) -> None:
    (tmp_path / "lens.toml").write_text("[thresholds.packet_los]\n")
    for words in (["analyze", MIXED], ["batch", MIXED, "-o", "b"]):
        done = completed(tmp_path, *words, "--config", "lens.toml")
        assert done.returncode == 2
        assert done.stderr.startswith(
            "wlanlens: lens.toml: thresholds: unknown detector 'packet_los'; did you mean 'packet_loss'?"
        )
    assert completed(tmp_path, "analyze", MIXED, "--config", "nowhere.toml").returncode == 3


def test_values_take_the_type_of_the_default() -> None:
    made = thresholds.checked({"stuck_rate": {"better_receiver_db": 6}, "periodic_loss": {"half_widths_share": [0.1]}})
    assert made == {"stuck_rate": {"better_receiver_db": 6.0}, "periodic_loss": {"half_widths_share": (0.1,)}}
    assert isinstance(made["stuck_rate"]["better_receiver_db"], float)
    with pytest.raises(NoSuchUnit):
        thresholds.checked({"nonsense": {}})


def test_a_batch_analyses_again_with_other_thresholds(tmp_path: Path) -> None:
    first = wl.batch([MIXED], tmp_path / "b", report=False)
    again = wl.batch([MIXED], tmp_path / "b", report=False)
    other = wl.batch([MIXED], tmp_path / "b", report=False, thresholds={"packet_loss": {"min_lost_packets": 1000}})
    assert (first.new, again.new, other.new) == (1, 0, 1)
