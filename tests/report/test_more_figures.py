"""The folded figures: which a report has, that they draw what the plots draw, and what a reader does with them."""

from __future__ import annotations

import base64
import csv
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wlanlens as wl
from tests import firing
from tests.captures import samples
from tests.firing import Small
from tests.report.test_reading import FAULTS, WIDTHS
from wlanlens.report import downsampling, more_figures

QUEUE = Small("spurious_retransmissions", 1.0, ("sender",))
FADE = Small("signal_fade", 8.0, ("air",))


def analysed(name: str, out: Path) -> wl.Analysis:
    return wl.analyze(samples()[name], out=out)


def folded(page: Path) -> dict[str, dict[str, Any]]:
    """The stored figures of a report by name."""
    text = page.read_text("utf-8")
    found = re.findall(r'<script type="text/plain" id="chart-([a-z_]+)">([^<]+)</script>', text)
    return {name: json.loads(gzip.decompress(base64.b64decode(packed))) for name, packed in found}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> wl.Analysis:
    """Four captures of one transfer."""
    return analysed("usb_ack_holding", tmp_path_factory.mktemp("full") / "out")


def test_a_report_has_the_figures_that_have_something_to_say(full: wl.Analysis, tmp_path: Path) -> None:
    assert list(folded(full.report)) == ["time_sequence_points", "rto_backoff", "usb_occupancy"]
    lossy = analysed("mixed_newreno.sender", tmp_path / "lossy")
    assert list(folded(lossy.report)) == ["rto_backoff", "retransmission_pairs", "inter_loss"]
    air = analysed("burst_loss.air", tmp_path / "air")
    assert set(folded(air.report)) == {"retransmission_pairs", "burst_lengths"}
    clean = analysed("clean_cubic.sender", tmp_path / "clean")
    assert folded(clean.report) == {}
    assert "More figures" not in clean.report.read_text("utf-8")


def test_the_queue_above_the_tap_and_a_changing_signal_have_figures(tmp_path: Path) -> None:
    for small, name in ((QUEUE, "tcp_view"), (FADE, "snr_distribution")):
        captures = [capture.path for capture in firing.trace(small).captures]
        report = wl.analyze(captures, out=tmp_path / name).report
        assert name in folded(report)


@pytest.mark.parametrize("name", ["mixed_newreno.sender", "burst_loss.air", "usb_ack_holding"])
def test_the_page_and_the_library_draw_the_same(name: str, tmp_path: Path) -> None:
    analysis = analysed(name, tmp_path / "out")
    for plot, spec in folded(analysis.report).items():
        options = {} if plot in ("time_sequence_points", "usb_occupancy") else {"capture": analysis.verdict.capture}
        figure = analysis.figure(plot, **({} if plot in ("burst_lengths", "snr_distribution") else options))
        assert [t.name for t in figure.data] == [t["name"] for t in spec["data"]]
        for drawn, kept in zip(figure.data, spec["data"], strict=True):
            for axis in ("x", "y"):
                stored = np.array([np.nan if v is None else v for v in kept[axis]], float)
                assert np.allclose(np.asarray(drawn[axis], float), stored, atol=1e-6, equal_nan=True), (
                    plot,
                    kept["name"],
                )
        assert [p["y"] for p in spec["panels"]]


def test_a_capture_too_large_for_all_exchanges_keeps_those_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = analysed("burst_loss.air", tmp_path / "whole")
    rows = whole.trace.table("exchanges").to_pandas()
    failed = int(((rows["attempts"] > 1) | (rows["outcome"] == "dropped")).sum())
    assert 20 < failed < len(rows) / 2
    monkeypatch.setattr(downsampling, "OTHER_ROWS", len(rows) // 2)
    small = downsampling.Digest(
        whole.trace.captures, whole.trace._held, [0], start_ns=0, duration_ns=whole.trace.duration_ns
    )
    assert small.table("exchanges").num_rows == failed
    # Without those that succeeded at once, bursts cannot be separated.
    assert not more_figures._all_exchanges(small)
    assert more_figures._all_exchanges(whole.trace)


def open_all(one: Any) -> None:
    one.page.evaluate("document.querySelectorAll('details.chart').forEach((d) => { d.open = true; })")
    for i in range(one.page.locator("details.chart").count()):
        one.page.wait_for_selector(f"details.chart >> nth={i} >> .chart-box[data-drawn]", timeout=30_000)
    one.page.wait_for_timeout(200)


def test_a_folded_figure_is_drawn_when_it_is_opened(opened: Any, full: wl.Analysis) -> None:
    one = opened().goto(full.report)
    assert one.page.locator(".chart-box svg").count() == 0
    one.page.locator("details.chart > summary").nth(1).click()
    one.page.wait_for_selector("details.chart >> nth=1 >> .chart-box[data-drawn]", timeout=30_000)
    assert one.page.locator("details.chart >> nth=1 >> svg.main-svg").count() > 0
    assert one.page.locator("details.chart >> nth=0 >> svg.main-svg").count() == 0
    words = one.page.locator("details.chart").nth(1).inner_text()
    assert "The timer expired twice" in words
    assert "smoothed RTT" in words


def test_files_of_a_folded_figure(opened: Any, full: wl.Analysis, tmp_path: Path) -> None:
    one = opened(accept_downloads=True).goto(full.report)
    open_all(one)
    chart = one.page.locator("[data-chart='rto_backoff']")
    chart.locator("details.data > summary").click()
    chart.locator("tbody tr").first.wait_for()
    got = {}
    for kind in ("csv", "svg", "png"):
        with one.page.expect_download() as waiting:
            chart.locator(f"[data-save='{kind}']").click()
        got[kind] = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(got[kind])
    assert got["csv"].name == "rto_backoff.csv"
    rows = list(csv.DictReader(got["csv"].read_text("utf-8").splitlines()))
    spec = folded(full.report)["rto_backoff"]
    assert len(rows) == sum(y is not None for t in spec["data"] for y in t["y"])
    expired = [float(r["y"]) for r in rows if r["series"].startswith("RTO expired")]
    waits = full.trace.table("timeouts").to_pandas()["waited_ns"] / 1e9
    assert sorted(expired) == pytest.approx(sorted(waits), abs=1e-6)
    assert "time (s) against seconds since" in rows[0]["panel"]
    svg = got["svg"].read_text("utf-8")
    assert "retransmission timer and its backoff" in svg
    assert "expiries in a row" in svg
    assert got["png"].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_folded_figures_fit_at_every_width(opened: Any, full: wl.Analysis, scheme: str) -> None:
    one = opened(1440, 900, color_scheme=scheme).goto(full.report)
    open_all(one)
    for width in WIDTHS:
        one.page.set_viewport_size({"width": width, "height": 900})
        one.page.wait_for_timeout(400)
        assert one.page.evaluate(FAULTS) == []
        # No text of a figure leaves it, and no two labels of an axis overlap.
        assert one.page.evaluate(CUT) == []


CUT = """() => {
  const out = [];
  for (const box of document.querySelectorAll(".chart-box")) {
    const frame = box.getBoundingClientRect();
    for (const text of box.querySelectorAll("svg text")) {
      const b = text.getBoundingClientRect();
      if (b.width && (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1)) {
        out.push(`cut: ${text.textContent}`);
      }
    }
    for (const axis of box.querySelectorAll(".xaxislayer-above, .xaxislayer-below")) {
      const labels = [...axis.querySelectorAll("text")].map((t) => t.getBoundingClientRect()).filter((b) => b.width);
      labels.sort((a, b) => a.left - b.left);
      const name = box.closest("details").dataset.chart;
      for (let i = 1; i < labels.length; i++) if (labels[i].left < labels[i - 1].right - 1) out.push(`labels overlap in ${name}`);
    }
  }
  return out;
}"""


def test_paper_has_the_folded_figures_that_are_open(opened: Any, full: wl.Analysis) -> None:
    one = opened(color_scheme="dark").goto(full.report)
    one.page.locator("[data-chart='usb_occupancy'] > summary").click()
    one.page.wait_for_selector("[data-chart='usb_occupancy'] .chart-box[data-drawn]", timeout=30_000)
    one.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert one.page.locator("[data-chart='usb_occupancy'] .printed svg").count() >= 1
    assert one.page.evaluate("document.querySelectorAll('details.chart[open]').length") == 1
    one.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert one.page.locator(".printed").count() == 0
