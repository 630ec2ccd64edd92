"""The studies' figures of the air and the bus: what is plotted equals what a few lines compute from the tables."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import pytest

import wlanlens as wl
from tests import firing
from tests.firing import Small
from tests.rows import table
from wlanlens.errors import NothingToDraw
from wlanlens.plots import burst_lengths, snr_distribution, usb_occupancy
from wlanlens.trace import Trace

BURSTS = Small("burst_loss", 4.0, ("air",))
RANDOM = Small("random_loss", 4.0, ("air",))
FADE = Small("signal_fade", 4.0, ("air",))
BUS = Small("slow_bus", 2.0, ("usb",))
MS = 1_000_000


def named(figure: Any, start: str) -> Any:
    (found,) = (t for t in figure.data if t.name.startswith(start) and t.xaxis in (None, "x"))
    return found


def runs(values: list[bool]) -> list[int]:
    return [len(list(group)) for value, group in groupby(values) if value]


def test_burst_lengths_are_runs_of_failed_transmissions() -> None:
    trace = firing.trace(BURSTS)
    figure = burst_lengths(trace)
    rows = trace.table("exchanges").to_pandas()
    ta, ra = figure.layout.title.text.rsplit(": ", 1)[0].split(" &gt; ")
    rows = rows[(rows["ta"] == ta) & (rows["ra"] == ra)].sort_values("t_last_ns", kind="stable")
    tried: list[bool] = []
    for r in rows.itertuples():
        tried += [True] * (r.attempts - 1) + ([] if r.outcome == "unknown" else [r.outcome == "dropped"])
    lengths = runs(tried)
    drawn = named(figure, "bursts of failed transmissions")
    assert drawn.name.endswith(f"({len(lengths)})")
    want = {n: 100 * sum(m >= n for m in lengths) / len(lengths) for n in set(lengths)}
    assert dict(zip(drawn.x.tolist(), drawn.y.tolist(), strict=True)) == pytest.approx(want)
    rate = sum(tried) / len(tried)
    chance = named(figure, "independent losses")
    assert chance.y.tolist() == pytest.approx([100 * rate ** (n - 1) for n in chance.x])


def test_burst_lengths_agree_with_the_detector() -> None:
    trace = firing.trace(BURSTS)
    (finding, *_) = wl.detect(trace, only=["burst_loss"])
    drawn = named(burst_lengths(trace, transmitter=finding.subject.split(" > ")[0].split()[-1]), "bursts of failed")
    assert int(drawn.x.max()) == finding.values["longest_burst_count"]
    # The detector also looks at which of the transmissions were acknowledged; the plot counts them by exchange.
    assert int(drawn.name.split("(")[1].rstrip(")")) == pytest.approx(finding.values["bursts_count"], rel=0.02)


def test_random_losses_lie_on_the_dashed_line() -> None:
    figure = burst_lengths(firing.trace(RANDOM))
    drawn, chance = named(figure, "bursts of failed"), named(figure, "independent")
    expected = dict(zip(chance.x.tolist(), chance.y.tolist(), strict=True))
    bursty = burst_lengths(firing.trace(BURSTS))
    at = {int(n): float(y) for n, y in zip(drawn.x, drawn.y, strict=True)}
    assert at[2] == pytest.approx(expected[2], rel=0.25)
    assert named(bursty, "bursts of failed").y[1] > 1.5 * named(bursty, "independent").y[1]


def test_snr_is_signal_less_noise_and_each_line_sums_to_the_whole() -> None:
    trace = firing.trace(FADE)
    figure = snr_distribution(trace)
    rows = trace.table("frames").to_pandas()
    rows = rows[rows["subtype"].isin(["data", "qos_data"]) & (rows["fcs_ok"] != False) & rows["ta"].notna()]  # noqa: E712
    assert figure.layout.xaxis.title.text == "signal-to-noise ratio (dB)"
    assert figure.layout.yaxis.title.text == "frames per dB (%)"
    for drawn in figure.data:
        assert drawn.y.sum() == pytest.approx(100)
        mine = (
            rows[rows["retry"]]
            if drawn.name.startswith("retries")
            else rows[(rows["ta"] == drawn.name[:17]) & ~rows["retry"]]
        )
        want = (mine["signal_dbm"].astype(int) - mine["noise_dbm"].astype(int)).value_counts(normalize=True) * 100
        got = {int(x + 0.5): y for x, y in zip(drawn.x, drawn.y, strict=True) if y}
        assert got == pytest.approx(want.to_dict())
        assert drawn.name.endswith(f"({len(mine)})")
    assert len(figure.data) == 3


def test_without_noise_the_signal_is_shown_and_without_signal_nothing() -> None:
    rows = [{"packet": i + 1, "t_ns": i, "type": "data", "subtype": "data", "ta": "02:00:00:00:00:01", "ra": "02:00:00:00:00:02",
             "signal_dbm": -50 - i % 2} for i in range(10)]  # fmt: skip
    figure = snr_distribution(Trace.of_tables({"frames": table("frames", rows)}))
    assert figure.layout.xaxis.title.text == "signal (dBm)"
    assert {int(x + 0.5): y for x, y in zip(figure.data[0].x, figure.data[0].y, strict=True) if y} == {
        -51: 50.0,
        -50: 50.0,
    }
    silent = [{**row, "signal_dbm": None} for row in rows]
    with pytest.raises(NothingToDraw, match=r"no frame of this capture has a signal level.*IEEE802_11_RADIO"):
        snr_distribution(Trace.of_tables({"frames": table("frames", silent)}))


def transfer(t_submit_ms: float, t_complete_ms: float, size: int, direction: str = "out") -> dict[str, Any]:
    return {"packet": 1, "device": 7, "endpoint": 2 + (direction == "in"), "direction": direction, "transfer": "bulk",
            "done_bytes": size, "t_submit_ns": int(t_submit_ms * MS), "t_complete_ns": int(t_complete_ms * MS)}  # fmt: skip


def test_a_transfer_fills_the_frames_that_it_took() -> None:
    # Out: 1280 bytes over four frames, 320 each, five packets. In: 640 bytes just before its completion, ten packets.
    rows = [transfer(0.0, 4.0, 1280), transfer(0.0, 6.0, 640, "in")]
    figure = usb_occupancy(Trace.of_tables({"urbs": table("urbs", rows)}))
    out, into, out_time, in_time = figure.data
    assert {int(x): y for x, y in zip(out.x, out.y, strict=True) if y} == pytest.approx({5: 400 / 6, 0: 200 / 6})
    assert {int(x): y for x, y in zip(into.x, into.y, strict=True) if y} == pytest.approx({10: 100 / 6, 0: 500 / 6})
    assert out_time.y.tolist() == pytest.approx([100 * 320 / 1216] * 4 + [0, 0])
    assert in_time.y.tolist() == pytest.approx([0] * 5 + [100 * 640 / 1216])
    assert figure.layout.xaxis2.title.text.startswith("seconds")
    assert figure.layout.yaxis2.title.text == "bus in use (%)"


def test_breadth_first_without_reclamation_sends_one_packet_a_frame() -> None:
    trace = firing.trace(BUS)
    out = next(t for t in usb_occupancy(trace).data if t.name.startswith("OUT"))
    share = {int(x): y for x, y in zip(out.x, out.y, strict=True)}
    assert share[1] > 90
    whole = trace.table("urbs").to_pandas()
    whole = whole[(whole["transfer"] == "bulk") & (whole["direction"] == "out")]
    (over_time,) = (t for t in usb_occupancy(trace).data if t.name.startswith("OUT") and t.xaxis == "x2")
    frames = np.diff(np.append(over_time.x, over_time.x[-1] + (over_time.x[1] - over_time.x[0]))) * 1e3
    assert (over_time.y / 100 * frames * 1216).sum() == pytest.approx(whole["done_bytes"].sum(), rel=0.02)


@pytest.mark.parametrize(
    ("plot", "tables", "what"),
    [
        (burst_lengths, {"exchanges": []}, "needs rows of exchanges"),
        (snr_distribution, {"frames": []}, "needs rows of frames"),
        (usb_occupancy, {"urbs": [transfer(0, 1, 0)]}, "no bulk transfer carried bytes"),
        (usb_occupancy, {}, "needs rows of urbs"),
    ],
)
def test_nothing_to_draw_says_what_and_what_to_do(
    plot: Any, tables: dict[str, list[dict[str, Any]]], what: str
) -> None:
    with pytest.raises(NothingToDraw) as error:
        plot(Trace.of_tables({name: table(name, rows) for name, rows in tables.items()}))
    assert what in error.value.what
    assert error.value.next


def test_a_link_without_failures_has_no_bursts() -> None:
    row = {"ta": "02:00:00:00:00:01", "ra": "02:00:00:00:00:02", "attempts": 1, "outcome": "delivered"}
    trace = Trace.of_tables({"exchanges": table("exchanges", [row, row])})
    with pytest.raises(NothingToDraw, match=r"none of 2 transmissions from 02:00:00:00:00:01"):
        burst_lengths(trace)
    with pytest.raises(NothingToDraw, match="by this transmitter"):
        burst_lengths(trace, transmitter="nobody")
