"""Worlds of the air: what each mechanism does goes away with its switch."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wlanlens as wl
from wlanlens.detection.finding import MAY_BE_MISSED, Finding
from wlanlens.papers._air import data_frames, retry_percent, throughput_mbps, timeouts
from wlanlens.papers._bursts import transfer
from wlanlens.papers._dcf import dropped_share, mean
from wlanlens.scenarios import bursty_errors
from wlanlens.simulation.simulate import Run


def damages(run: Run) -> set[str]:
    return set(run.facts.frames["damaged_by"].cast("string").drop_null().to_pylist())


def test_ties_need_acks_and_a_small_window() -> None:
    share = {
        (cw, each): retry_percent(wl.simulate("data_ack_collision", cw_min=cw, delayed_ack_segments=each))
        for cw, each in ((7, 1), (31, 1), (31, 8))
    }
    assert share[7, 1] > 2 * share[31, 1] > 2 * share[31, 8]
    assert retry_percent(wl.simulate("clean_udp", frame_error_rate=0.0)) == 0


def test_without_mac_retransmission_ties_are_tcps_losses() -> None:
    with_it, without = (
        wl.simulate("no_mac_retransmission", ends=ends, duration_s=20.0) for ends in ("none", "station")
    )
    assert throughput_mbps(without) < 0.93 * throughput_mbps(with_it)
    assert timeouts(with_it) == 0 < timeouts(without)


def test_distance_slows_a_station_and_nothing_else_does() -> None:
    def rates(run: Run) -> tuple[float, float]:
        frames = data_frames(run)
        mine = np.asarray(frames["rate_mbps"])[np.asarray(frames["station"]) == 0]
        return float(np.median(mine[:500])), float(np.median(mine[-200:]))

    assert rates(wl.simulate("moving_station")) == (11.0, pytest.approx(1.5, abs=0.6))
    assert rates(wl.simulate("moving_station", exponent=0.0, doppler_hz=0.0)) == (11.0, 11.0)


def test_fades_show_in_the_signal_and_interference_does_not() -> None:
    for name, spread_db in (("signal_fade", 15.0), ("interference", 0.0), ("harmless_dips", 15.0)):
        run = wl.simulate(name)
        signal = np.asarray(data_frames(run)["signal_dbm"])
        assert signal.max() - signal.min() == pytest.approx(spread_db), name
        assert damages(run) == (set() if name == "harmless_dips" else {"fade"})
    assert damages(wl.simulate("signal_fade", depth_db=0.0)) <= {"noise"}


def test_a_signal_below_the_noise_reads_as_the_noise(tmp_path: Path) -> None:
    run = wl.simulate("signal_fade", depth_db=95.0, out=tmp_path / "run")
    heard = wl.open(run.captures["air"]).table("frames")["signal_dbm"]
    assert heard.null_count == 0
    assert min(heard.to_pylist()) == -95
    assert {f.code for f in wl.analyze(run.captures["air"], out=tmp_path / "analysis").findings} >= {"signal_fade"}


def fades(**spells: float) -> list[Finding]:
    run = wl.simulate("signal_fade", **spells)
    return [f for f in run.facts.findings() if f.code == "signal_fade"]


def test_fades_that_overlap_are_one() -> None:
    apart, overlapping = fades(lasts_s=0.3, every_s=2.0), fades(first_s=15.0, lasts_s=3.0, every_s=2.0)
    assert len(apart) > 3
    assert len(overlapping) == 1
    # What lasts for more than half of the time is the usual signal.
    assert [f.confidence for f in fades(first_s=1.0, lasts_s=3.0, every_s=2.0)] == [MAY_BE_MISSED]


def test_waves_fade_and_their_absence_does_not() -> None:
    weak = {"snr_db": 12.0, "frame_error_rate": 0.0}
    assert "fade" in damages(wl.simulate("healthy_rate_probing", doppler_hz=4.0, **weak))
    assert damages(wl.simulate("healthy_rate_probing", doppler_hz=0.0, **weak)) <= {"noise"}


def test_the_remedy_ends_long_idle_times() -> None:
    def longest(rto: str, **dead: float) -> float:
        runs = (wl.simulate("kept_backoff", seed=seed, rto=rto, file_bytes=10 << 20, **dead) for seed in range(1, 13))
        return max(transfer(run).longest_idle_s for run in runs)

    assert longest("linux22") > 2 * longest("linux22_reset")
    # Without any frame in a dead time there is no ACK of new data to end the doublings with.
    assert longest("linux22", dead_error_rate=1.0) == longest("linux22_reset", dead_error_rate=1.0)


def test_a_word_that_is_none_names_the_nearest() -> None:
    with pytest.raises(wl.WlanlensError, match="station, both"):
        wl.simulate("no_mac_retransmission", ends="stations")


def test_timeouts_without_mac_retransmission_depend_on_the_sender() -> None:
    def expiries(sender: str) -> int:
        runs = (wl.simulate("no_mac_retransmission", seed=s, sender=sender, duration_s=60.0) for s in range(1, 4))
        return sum(timeouts(run) for run in runs)

    # Without SACK and limited transmit a loss in a small window waits for the timer.
    assert expiries("newreno") > 1.5 * expiries("linux24") > 0


def test_a_window_that_grows_by_the_ack_makes_linux_22_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    def median_mbps() -> float:
        return float(np.median([transfer(wl.simulate("bursty_errors", seed=seed)).mbps for seed in range(1, 41)]))

    by_ack = median_mbps()
    monkeypatch.setattr(bursty_errors, "LINUX22", replace(bursty_errors.LINUX22, counts_segments=True))
    assert by_ack < 0.6 * median_mbps()


#: Stations of the study's example, and seconds that give some hundred drops.
CROWD, SECONDS = 15, 300.0


def crowd_drops() -> float:
    """Share of packets that 15 saturated stations drop, with RTS and CTS."""
    return mean(
        [dropped_share(wl.simulate("saturated_stations", seed=s, stations=CROWD, duration_s=SECONDS)) for s in (1, 2)]
    )


def test_drops_with_rts_are_the_studys() -> None:
    # P_C ** 7 of the report: an RTS without CTS counts on the short retry limit.
    assert crowd_drops() == pytest.approx(7.9689e-4, rel=0.2)


@pytest.mark.timeout(900)  # minutes on a busy machine
@pytest.mark.skipif(not shutil.which("ns"), reason="ns-2 is not installed")
def test_drops_with_rts_are_those_of_ns2(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "benches" / "dcf.tcl"
    words = [CROWD, CROWD, SECONDS, "udp", "trace", 0, 1000]
    subprocess.run(["ns", script, *map(str, words)], cwd=tmp_path, check=True, capture_output=True, timeout=300)
    with (tmp_path / "trace").open() as lines:
        fields = (line.split() for line in lines)
        # A dropped packet has two lines: its RTS and itself.
        seen = Counter((f[0], f[3], f[4] if f[0] == "D" else "", f[6]) for f in fields)
    dropped, arrived = seen["D", "MAC", "RET", "cbr"], seen["r", "AGT", "", "cbr"]
    assert dropped > 50
    assert crowd_drops() == pytest.approx(dropped / (dropped + arrived), rel=0.2)


def test_bursts_that_chance_may_make_need_not_be_found() -> None:
    """The same channel: a long transfer shows its bursts, of a short one some directions might fail so by chance."""
    short, long = (
        [
            f.confidence
            for seed in (1, 2, 3)
            for f in wl.simulate("burst_loss", seed=seed, duration_s=duration_s).truth
            if f.code == "burst_loss"
        ]
        for duration_s in (1.0, 6.0)
    )
    assert MAY_BE_MISSED in short
    assert set(long) == {1.0}
