"""The layers of several captures on one axis, and a packet's journey, in a browser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import wlanlens as wl
from wlanlens.report import layers, views
from wlanlens.trace import Trace

BAIT = "<img src=x onerror=alert(1)>'$(x)` \u202e.pcap"


@pytest.fixture(scope="module")
def usb(tmp_path_factory: pytest.TempPathFactory) -> wl.Analysis:
    folder = tmp_path_factory.mktemp("layers")
    run = wl.simulate("ack_holding_over_usb", out=folder, duration_s=6.0)
    return wl.analyze(list(run.captures.values()), out=folder / "out")


@pytest.fixture(scope="module")
def thrashing(tmp_path_factory: pytest.TempPathFactory) -> wl.Analysis:
    folder = tmp_path_factory.mktemp("layers")
    run = wl.simulate("rate_thrashing", out=folder, duration_s=8.0)
    return wl.analyze(list(run.captures.values()), out=folder / "out")


def page_data(one: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(one.page.text_content("#page"))
    return data


def point_at(one: Any, begins: str) -> tuple[float, float, str]:
    """A place in the figure whose words begin so, and these words."""
    found = one.page.evaluate(
        """(begins) => {
          const box = document.getElementById("figure"), frame = box.getBoundingClientRect(), tip = document.getElementById("tip");
          for (let y = 40; y < box.clientHeight - 40; y += 4) for (let x = 80; x < box.clientWidth - 12; x += 6) {
            box.dispatchEvent(new PointerEvent("pointermove", { clientX: frame.left + x, clientY: frame.top + y, bubbles: true }));
            if (!tip.hidden && tip.textContent.startsWith(begins)) return [frame.left + x, frame.top + y, tip.textContent];
          }
          return null;
        }""",
        begins,
    )
    assert found is not None, begins
    return tuple(found)


def near(one: Any, most_s: float) -> tuple[float, float]:
    """The range that the figure shows, once it is no wider than this."""
    one.page.wait_for_function(
        "(most) => { const { x0, x1 } = document.getElementById('figure').dataset; return x1 - x0 <= most; }",
        arg=most_s,
    )
    return one.settled()


#: What the panel of the journey lies over.
COVERS = """() => {
  const panel = document.getElementById("journey"), a = panel.getBoundingClientRect();
  return [...document.querySelectorAll("main *:not(svg *)")].filter((e) => {
    const b = e.getBoundingClientRect();
    return !panel.contains(e) && !e.contains(panel) && b.width && b.height
      && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  }).map((e) => e.outerHTML.slice(0, 80));
}"""


def shown(one: Any) -> str:
    one.page.wait_for_selector("#journey:not([hidden])")
    return str(one.page.inner_text("#journey"))


def test_host_bus_and_air_share_an_axis_and_a_click_opens_the_journey(opened: Any, usb: wl.Analysis) -> None:
    one = opened().goto(usb.report)
    assert one.page.evaluate("document.querySelectorAll('#figure image').length") == 6
    assert "Host, bus and air on one axis" in one.page.inner_text(".stage")
    assert "11\u202fMbit/s" in one.page.inner_text("#rates-legend")
    # A finding alone does not open a journey: the reader asks for it.
    one.page.click("#finding-1 .show")
    one.settled()
    assert not one.page.locator("#journey").is_visible()
    one.page.click("#finding-1 .journey")
    assert "retransmission" in shown(one) or "ack" in shown(one)
    assert one.page.evaluate(COVERS) == []
    one.page.click("[data-journey='close']")
    assert not one.page.locator("#journey").is_visible()
    near(one, 2.0)
    assert point_at(one, "URB to the adapter")
    assert point_at(one, "from the air to the host")
    x, y, words = point_at(one, "transmission 1 of 1")
    frame = int(words.split("frame ")[1].split(" ")[0])
    one.page.mouse.click(x, y)
    text = shown(one)
    rows = usb.trace.table("links").to_pandas()
    row = rows[rows.transmissions_heard.map(lambda heard: any(t["packet"] == frame for t in heard))].iloc[0]
    for point in row.points:
        number = f"{int(row.usb_complete_packet)}" if point["capture"] == "usb.pcap" else f"{int(point['packet'])}"
        line = next(line for line in text.splitlines() if point["capture"] in line and "\t" in line)
        assert number in line
        assert line.endswith("seen")
    for stage in ("queue", "bus", "air wait", "air", "wire"):
        assert (stage in one.page.locator(".stage-name").all_inner_texts()) == (
            not np.isnan(row[f"{stage.replace(' ', '_')}_ns"])
        )
    command = one.page.text_content("#journey-command")
    assert command.startswith("wlanlens show ")
    assert command.endswith(f" {row.points[0]['capture']}:{int(row.points[0]['packet'])}")
    one.page.click("[data-journey='zoom']")
    start, end = near(one, 0.1)
    assert start <= row.t_start_ns / 1e9 < row.t_end_ns / 1e9 <= end
    before = one.page.locator("#journey").get_attribute("data-shown")
    one.page.click("[data-journey='next']")
    one.page.wait_for_function("(was) => document.getElementById('journey').dataset.shown !== was", arg=before)
    one.page.click("[data-journey='back']")
    one.page.wait_for_function("(was) => document.getElementById('journey').dataset.shown === was", arg=before)
    one.page.locator("[data-journey='next']").press("Escape")
    assert not one.page.locator("#journey").is_visible()


def test_a_segment_leads_to_its_other_copies(opened: Any, usb: wl.Analysis) -> None:
    one = opened().goto(usb.report)
    number = next(f["n"] for f in page_data(one)["findings"] if "Spurious" in f["words"])
    one.choose(number, "journey")
    text = shown(one)
    assert "timeout (RTO), spurious" in text
    assert "2 copies of this segment" in text
    before = one.page.locator("#journey").get_attribute("data-shown")
    one.page.click("#journey-copies button:not([disabled])")
    one.page.wait_for_function("(was) => document.getElementById('journey').dataset.shown !== was", arg=before)
    assert "timeout (RTO)" not in shown(one)
    one.page.click("[data-journey='close']")
    one.page.keyboard.press(".")
    one.settled()
    assert not one.page.locator("#journey").is_visible()


def test_held_acks_open_the_journey_of_the_ack_that_was_held(opened: Any, usb: wl.Analysis) -> None:
    one = opened().goto(usb.report)
    number, finding = next((n, f) for n, f in enumerate(usb.findings, 1) if f.code == "ack_holding")
    one.choose(number, "journey")
    shown(one)
    chosen = page_data(one)["journeys"]["findings"][str(number)]
    rows = usb.trace.table("links").to_pandas().query("flow == 0").sort_values("t_start_ns", kind="stable")
    row = rows.iloc[chosen[1]]
    assert (row.t_end_ns - row.t_start_ns) / 1e9 > 0.9 * finding.values["held_s"]


def test_a_finding_of_the_air_opens_a_journey_of_its_frames(opened: Any, thrashing: wl.Analysis) -> None:
    one = opened().goto(thrashing.report)
    data = page_data(one)
    number = next(f["n"] for f in data["findings"] if f["on"] == "air")
    one.choose(number, "journey")
    text = shown(one)
    finding = thrashing.findings[number - 1]
    assert any(f"frame {packet}" in text for packet in finding.evidence[0][2])
    assert "lost after this" in text
    assert "none heard" in text
    one.page.click("[data-journey='zoom']")
    near(one, 1.0)
    assert one.page.evaluate("document.getElementById('figure').getBoundingClientRect().top < innerHeight / 2")
    legend = one.page.inner_text("#rates-legend")
    assert [rate in legend for rate in ("1\u202fMbit/s", "5.5\u202fMbit/s", "11\u202fMbit/s", "did not arrive")] == [
        True
    ] * 4


def test_the_table_of_clocks(opened: Any, usb: wl.Analysis) -> None:
    one = opened(java_script_enabled=False)
    one.page.goto(usb.report.as_uri())
    table = one.page.locator("table.clocks")
    heads = table.locator("thead th").all_inner_texts()
    assert heads[1:-1] == ["sender.pcap (sender)", "usb.pcap (usb)", "air.pcap (air)", "receiver.pcap (receiver)"]
    rows = {
        row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()
    }
    assert rows["offset"][0] == "reference"
    assert all(cell.endswith(("µs", "ms")) for cell in rows["bound"][1:4])
    assert rows["missed"][:4] == ["0"] * 4
    assert not one.page.locator("#journey").is_visible()


def test_a_narrow_screen_and_dark(opened: Any, usb: wl.Analysis) -> None:
    one = opened(360, 780, color_scheme="dark").goto(usb.report)
    one.page.click("#finding-1 .journey")
    shown(one)
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert one.page.evaluate(COVERS) == []


def test_hostile_names_of_captures_are_inert(opened: Any, usb: wl.Analysis, tmp_path: Path) -> None:
    paths = [Path(capture.path) for capture in usb.trace.captures]
    odd = tmp_path / BAIT
    shutil.copy(paths[0], odd)
    made = wl.analyze([odd, *paths[1:]], out=tmp_path / "out", only=["spurious_timeout"])
    one = opened().goto(made.report)
    one.page.click("#finding-1 .journey")
    text = shown(one)
    assert "<img src=x onerror=alert(1)>'$(x)` \\u202e.pcap" in text
    assert one.page.evaluate("document.querySelectorAll('body img, body a:not([href^=\"#\"])').length") == 0
    assert "\u202e" not in made.report.read_text("utf-8")
    assert "'\"'\"'$(x)`" in one.page.text_content("#journey-command")


def test_of_a_long_flow_the_page_says_how_many_journeys_are_drawn(
    usb: wl.Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = views.data_flows(usb.trace, [])[0][0]
    whole = layers.layers(usb.trace, key)
    assert whole.every == 1
    assert whole.rows == usb.trace.table("links").num_rows
    # One in three by the analysis, and of these one in two by the page.
    rows = usb.trace.table("links").take(pa.array(np.arange(0, whole.rows, 3)))
    held = {"links": rows, "flows": usb.trace.table("flows"), "segments": usb.trace.table("segments")}
    thin = Trace(usb.trace.captures, held, start_ns=0, duration_ns=usb.trace.duration_ns)
    monkeypatch.setattr(layers, "MOST_JOURNEYS", -(-rows.num_rows // 2))
    assert layers.layers(thin, key).every == 6


def test_one_capture_has_no_journeys(opened: Any, small: Path) -> None:
    one = opened().goto(small)
    assert page_data(one)["journeys"] is None
    assert one.page.locator("#journey").count() == 0
    assert one.page.locator(".clocks").count() == 0
