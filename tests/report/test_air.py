"""The air in the report: what a reader sees and does, and hostile network names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.airtime.made import AP, STATION, exchanges, frames, many, trace_of
from tests.report import synthetic
from tests.report.conftest import written
from tests.report.test_browser import BAITS
from wlanlens import airtime, tables
from wlanlens.capture.capture import Capture
from wlanlens.detection.finding import Finding
from wlanlens.report import page
from wlanlens.trace import Trace


def of_air(folder: Path, trace: Trace, *, findings: tuple[Finding, ...] = (), verdict: str = "No TCP.") -> Path:
    """The report of a capture of the air without TCP."""
    summary = airtime.of_tables(trace.table("frames"), trace.table("exchanges")).summary(trace.duration_ns)
    path = folder / "report.html"
    described = {"name": "air.pcap", "path": "/air.pcap", "point": "air", "notes": [], "records": 13}
    trace.captures = [Capture.described(described)]
    trace.clocks = []
    page.write(
        Path("air.wlanlens"),
        trace=trace,
        findings=findings,
        ledger=tables.empty("ledger"),
        states=[],
        out_path=path,
        verdict=verdict,
        connections=0,
        air=summary,
    )
    return path


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few frames."""
    return of_air(tmp_path_factory.mktemp("air"), trace_of(frames(), exchanges()), findings=(thrashing(),))


def thrashing() -> Finding:
    """A finding whose evidence is frames."""
    return Finding(
        code="rate_thrashing",
        t_start_ns=2_000_000,
        t_end_ns=4_000_000,
        capture="air.pcap",
        subject=f"station {STATION} > {AP}",
        severity="warning",
        confidence=0.9,
        cost_s=0.001,
        evidence=(("frames", "air.pcap", (2, 3, 4)),),
        sentence=f"station {STATION} > {AP}: down and up again.",
        display_filter="frame.number in {2,3,4}",
    )


def goto(one: Any, path: Path) -> Any:
    """Open a file and wait until the air's figure is drawn."""
    one.page.goto(path.as_uri())
    one.page.locator("#air-figure").scroll_into_view_if_needed()
    one.page.wait_for_selector("#air-figure[data-view]", timeout=30_000)
    return one.page


def moved(page: Any) -> tuple[float, float]:
    """The x range of the air's figure once it no longer changes."""
    before, box = None, page.locator("#air-figure")
    while before != (before := (box.get_attribute("data-x0"), box.get_attribute("data-x1"))):
        page.wait_for_timeout(150)
    return float(before[0]), float(before[1])


def test_the_air_in_sentences_and_figures(opened, quiet):
    page = goto(opened(), quiet)
    text = page.inner_text("#air").replace("\xa0", " ")
    assert "The channel was busy 15 % of 20 ms: " in text
    assert "access point of home" in text
    assert "1 network heard" in text
    assert "passphrase (WPA, WPA2)" in page.text_content("#air details.more table")
    assert page.evaluate("document.querySelectorAll('#air-figure image').length") == 4
    assert page.evaluate("document.querySelectorAll('#air-figure svg *').length") < 2000
    assert page.locator("#figure").count() == 0
    assert page.locator("#ledger-title").count() == 0


def test_few_columns_are_shown_and_the_rest_on_request(opened, quiet):
    page = goto(opened(), quiet)
    shown = "[...document.querySelectorAll('.stations thead th')].filter(e => e.offsetWidth).length"
    assert page.evaluate(shown) == 7
    assert page.evaluate("document.querySelector('.stations').scrollWidth <= document.body.clientWidth")
    page.check(".all-columns")
    assert page.evaluate(shown) == 21


def test_choosing_a_pair_shows_its_frames(opened, quiet):
    page = goto(opened(), quiet)
    choices = page.locator("#air-view option").all_text_contents()
    assert choices[0] == "data frames of all stations (9)"
    number = next(i for i, text in enumerate(choices) if text.startswith(f"{STATION} > {AP} (home)"))
    page.select_option("#air-view", str(number))
    page.wait_for_selector(f"#air-figure[data-view='{number}']")
    assert "8 frames drawn" in page.inner_text("#air-figure-status")
    assert STATION in page.inner_text("#air-legend")


def test_pointing_describes_a_frame_and_a_slice_of_time(opened, quiet):
    page = goto(opened(), quiet)
    tips = page.evaluate(
        """() => {
          const box = document.getElementById("air-figure"), frame = box.getBoundingClientRect(), out = [];
          for (let y = 8; y < box.clientHeight - 45; y += 5) for (let x = 60; x < box.clientWidth - 12; x += 8) {
            box.dispatchEvent(new PointerEvent("pointermove", { clientX: frame.left + x, clientY: frame.top + y, bubbles: true }));
            const tip = box.parentElement.querySelector(".tip");
            if (!tip.hidden) out.push(tip.textContent);
          }
          return [...new Set(out)];
        }"""
    )
    assert any("dropped" in text and "packet 7" in text for text in tips)
    assert any("retry" in text and "24.0 Mbit/s" in text.replace("\u202f", " ") for text in tips)
    assert any("% management" in text for text in tips)
    assert any(text.startswith("Rate thrashing") for text in tips)


def test_a_finding_of_the_air_is_shown_in_the_figure_of_the_air(opened, quiet):
    page = goto(opened(), quiet)
    whole = moved(page)
    page.click("#finding-1 .show")
    start, end = moved(page)
    assert start <= 0.002 < 0.004 <= end < whole[1]
    page.keyboard.press("0")
    assert moved(page) == pytest.approx(whole)
    page.keyboard.press("w")
    assert moved(page) != pytest.approx(whole)


def test_with_a_flow_each_figure_has_its_own_keys(opened, tmp_path):
    made = synthetic.make(1500, 1)
    held = dict(made.trace._held)
    other = trace_of(frames(), exchanges())
    for name in ("frames", "exchanges", "airtime", "stations", "networks"):
        held[name] = other.table(name)
    made.trace._held = held
    path = written(tmp_path, made, air=airtime.of_tables(frames(), exchanges()).summary(made.trace.duration_ns))
    one = opened()
    page = goto(one, path)
    page.locator("#figure").scroll_into_view_if_needed()
    page.wait_for_selector("#figure[data-x0]")
    of_flow, of_air_before = one.settled(), moved(page)
    page.locator("#air-figure").scroll_into_view_if_needed()
    page.hover("#air-figure", position={"x": 300, "y": 300})
    page.keyboard.press("w")
    assert moved(page) != pytest.approx(of_air_before)
    assert one.settled() == pytest.approx(of_flow)
    page.hover("#figure", position={"x": 300, "y": 300})
    page.keyboard.press("w")
    assert one.settled() != pytest.approx(of_flow)


@pytest.mark.parametrize("bait", [" ".join(BAITS), BAITS[0], "\u202e" * 16 + "\n" * 16])
def test_a_hostile_network_name_is_inert(opened, tmp_path, bait):
    path = of_air(tmp_path, trace_of(frames(), exchanges(), ssid=bait))
    page = goto(opened(), path)
    assert page.evaluate("document.scripts.length") == 5
    assert page.evaluate("document.querySelectorAll('body img, body a:not([href^=\"#\"]), #air b b').length") == 0
    assert not any(c in path.read_text("utf-8") for c in "\x1b\u202e\u2028\u2029\u200b\x00")
    page.locator("#air .more summary").click()
    assert page.locator("#air details.more table tbody th").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_horizontal_scroll(opened, quiet, width, scheme):
    page = goto(opened(width, 844, color_scheme=scheme), quiet)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.check(".all-columns")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_javascript_the_text_is_there(opened, quiet):
    one = opened(java_script_enabled=False)
    one.page.goto(quiet.as_uri())
    assert "The channel was busy" in one.page.inner_text("#air")
    assert "The figure needs JavaScript" in one.page.inner_text("#air")
    assert not one.page.locator("#air-view").is_visible()


def test_a_wired_capture_has_no_section_on_the_air(small):
    assert 'id="air"' not in small.read_text("utf-8")
    assert json.loads(small.read_text("utf-8").split('id="page">')[1].split("</script>")[0])["air"] is None


@pytest.mark.timeout(180)
def test_a_million_frames_open_in_little_memory(opened, tmp_path):
    path = of_air(tmp_path, trace_of(*many(1_000_000), duration_ns=500 * 10**9))
    one = opened()
    session = one.page.context.new_cdp_session(one.page)
    session.send("Performance.enable")
    goto(one, path)
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    # A million rows as JavaScript objects would take 100 MB: the page holds what its pixels can show.
    assert metrics["JSHeapUsedSize"] < 60e6
    assert path.stat().st_size <= 6_000_000
