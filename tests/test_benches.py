"""The benchmarks: each step and one simulation run once, figures come out of costs, and a worse figure is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.captures import SAMPLES

BENCHES = Path(__file__).parent.parent / "benches"
SENDER, RECEIVER = (str(SAMPLES / f"usb_ack_holding.{tap}.pcap") for tap in ("sender", "receiver"))


@pytest.fixture(autouse=True)
def _benches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHES))


@pytest.mark.parametrize("step", ["decode", "facts", "detectors", "align", "packets", "segments"])
def test_a_step_is_measured(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    import steps

    steps.main([step, SENDER, RECEIVER])
    rows, cpu_s, wall_s = json.loads(capsys.readouterr().out)
    assert cpu_s > 0
    assert wall_s > 0
    assert (rows > 0) == (step == "align")


SIZES = {"1M": 1_000_000, "4M": 4_000_000, "there": 990_000, "air": 1_000_000, "air+TCP": 1_000_000, "usb": 1_000_000}


def costs() -> dict[str, Any]:
    """Costs of every command: one second for each of ours, a quarter for each peer, and four for four million packets."""
    import figures
    from measure import Cost

    made = {}
    for figure in figures.figures(SIZES):
        for name in (*figure.ours, *figure.peer, *figure.over):
            times = {"16M": 16, "4M": 4, "10k": 0.5}.get(name.rpartition(" ")[2], 1) * (0.25 if "tc" in name else 1)
            made[name] = Cost(1.0 * times, 1.0 * times, 10**8)
    made["report 1M"] = Cost(1.5, 1.25)
    made["step detectors"] = Cost(0.25, 0.25)
    return made


def test_figures_are_sums_of_costs() -> None:
    import figures
    import results

    taken = costs()
    found = {figure.key: figure for figure in figures.figures(SIZES)}
    assert found["margin_cpu"].value(taken) == pytest.approx(1.0)  # 3 s for 3 M packets
    assert found["margin_cpu"].ratio(taken) == pytest.approx(4.0)
    assert found["report"].value(taken) == pytest.approx(0.25)
    assert found["judgement"].value(taken) == pytest.approx(0.25)
    assert found["growth_4m"].value(taken) == pytest.approx(7.0)
    assert not found["growth_4m"].holds(taken)
    assert found["memory"].ratio(taken) == found["memory"].value(taken) == pytest.approx(100)
    del taken["tcptrace 1M"]
    assert found["usb"].ratio(taken) is None
    assert results.entry(found["usb"], taken).peer == ""


def test_every_figure_comes_from_commands_that_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import figures

    monkeypatch.setattr("shutil.which", lambda word: word)
    names = ("10k", "1M", "4M", "16M", "there", "air", "air+TCP", "usb")
    run = figures.commands({name: tmp_path / name for name in names}, tmp_path / "out")
    assert costs().keys() <= run.keys()


def test_a_worse_figure_is_named_and_a_better_one_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import figures
    import results
    from measure import Cost

    monkeypatch.setattr(results, "STORED", tmp_path / "results.json")
    monkeypatch.setattr(results, "PAGE", tmp_path / "RESULTS.md")
    taken = costs()

    def entries() -> dict[str, Any]:
        return {figure.key: results.entry(figure, taken) for figure in figures.figures(SIZES)}

    assert results.worse(entries(), results.load()) == []
    results.accept(entries(), "a quiet machine")
    assert (
        "| analyze --no-report at the margin, CPU a packet | 1.00 us | <= 1.2 | tcptrace | 4.00 |"
        in results.PAGE.read_text()
    )
    taken["--help"] = Cost(1.0, 1.14, 10**8)
    taken["report 10k"] = Cost(0.1, 0.1, 10**8)
    assert results.worse(entries(), results.load()) == []
    taken["--help"] = Cost(1.0, 1.16, 10**8)
    (said,) = results.worse(entries(), results.load())
    assert said.startswith("wlanlens --help, by the clock (help): ratio 1.16, accepted 1.00")


def test_each_machine_is_held_against_its_own_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import figures
    import results
    from measure import Cost

    monkeypatch.setattr(results, "STORED", tmp_path / "results.json")
    monkeypatch.setattr(results, "PAGE", tmp_path / "RESULTS.md")
    taken = costs()

    def accept_on(machine: str, help_s: float) -> None:
        monkeypatch.setattr(results, "machine", lambda: machine)
        taken["--help"] = Cost(1.0, help_s, 10**8)
        results.accept({figure.key: results.entry(figure, taken) for figure in figures.figures(SIZES)}, "quiet")

    accept_on("a fast one", 1.0)
    accept_on("a slow one", 3.0)
    assert results.load().ratios["help"] == pytest.approx(3.0)
    monkeypatch.setattr(results, "machine", lambda: "a fast one")
    assert (results.load().where, results.load().ratios["help"]) == ("a fast one", pytest.approx(1.0))
    # An unknown one is beside the one accepted last.
    monkeypatch.setattr(results, "machine", lambda: "a new one")
    assert results.load().where == "a slow one"
    assert results.PAGE.read_text().index("## a slow one") < results.PAGE.read_text().index("## a fast one")


def test_what_seems_worse_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import figures
    import results
    import run
    from measure import Command, Cost

    monkeypatch.setattr(results, "STORED", tmp_path / "results.json")
    monkeypatch.setattr(results, "PAGE", tmp_path / "RESULTS.md")
    wanted, taken = figures.figures(SIZES), costs()
    results.accept({figure.key: results.entry(figure, taken) for figure in wanted}, "a quiet machine")
    busy = taken | {"--help": Cost(1.0, 30.0)}
    # Only the commands of that figure run: another one would fail.
    commands = dict.fromkeys(taken, Command(["false"])) | {"--help": Command(["true"])}
    commands |= dict.fromkeys(("python", "python work"), Command(["true"]))
    again = run.measured_again(busy, wanted, commands, 1, lambda _: None)
    assert again["--help"].wall_s < 1.0
    assert again["report 10k"] == taken["report 10k"]


def test_a_command_is_measured_from_outside(tmp_path: Path) -> None:
    from measure import Command, interleaved

    spin = "import sys; n = sum(range(2_000_000)); held = b'x' * 50_000_000; open(sys.argv[1], 'w').write(sys.stdin.read())"
    out = tmp_path / "made"
    words = [sys.executable, "-c", spin, str(out)]
    taken = interleaved(
        {"spin": Command(words, out, source=["echo", "x" * 9]), "nothing": Command(["true"], rounds=1)}, 2
    )
    assert taken["spin"].cpu_s > 0.01
    assert taken["spin"].peak_bytes > taken["nothing"].peak_bytes
    assert not out.exists()
    with pytest.raises(SystemExit, match="failed with"):
        interleaved({"wrong": Command(["false"])}, 1)


def test_one_simulation_is_measured(tmp_path: Path) -> None:
    words = ["clean_link", str(tmp_path / "out"), "all", "duration_s=1"]
    subprocess.run([sys.executable, str(BENCHES / "simulate_once.py"), *words], check=True)
    assert (tmp_path / "out" / "truth.json").exists()
