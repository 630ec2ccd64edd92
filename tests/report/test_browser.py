"""The report in a browser: actions of a reader, and what a page must never do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.report import synthetic
from tests.report.conftest import written
from wlanlens.detection.finding import grouped
from wlanlens.report import page, views


def test_opens_from_a_file_with_no_network(opened, small):
    one = opened().goto(small)
    assert [url for url in one.requests if url.startswith("file:")] == [small.as_uri()]
    assert one.page.evaluate("document.querySelectorAll('#figure image').length") == 4


def test_clicking_a_finding_zooms_to_its_evidence(opened, small):
    one = opened().goto(small)
    before = one.range()
    one.page.click("#finding-1 .show")
    start, end = one.settled()
    finding = json.loads(one.page.inner_text("#page") or one.page.text_content("#page"))["findings"][0]
    assert before[0] < start <= finding["from"] <= finding["to"] <= end < before[1]
    assert end - start < 2 * (finding["to"] - finding["from"])
    assert one.page.locator("#finding-1").get_attribute("data-chosen") == ""


def test_a_finding_of_another_flow_changes_the_flow(opened, small):
    one = opened().goto(small)
    number = one.page.evaluate(
        "JSON.parse(document.getElementById('page').textContent).findings.find(f => f.view === 1).n"
    )
    one.choose(number)
    one.page.wait_for_selector("#figure[data-flow='1']")
    assert one.page.locator("#flow").input_value() == "1"
    assert one.page.locator("[data-legend='1']").first.is_visible()
    assert not one.page.locator("[data-legend='0']").first.is_visible()


def test_keys(opened, small):
    one = opened().goto(small)
    first = one.settled()
    one.page.keyboard.press("w")
    nearer = one.settled()
    assert nearer[1] - nearer[0] == pytest.approx((first[1] - first[0]) / 1.5)
    one.page.keyboard.press("d")
    assert one.settled()[0] == pytest.approx(nearer[0] + 0.25 * (nearer[1] - nearer[0]))
    one.page.keyboard.press("a")
    assert one.settled() == pytest.approx(nearer)
    one.page.keyboard.press("s")
    assert one.settled() == pytest.approx(first)
    one.page.keyboard.press(".")
    one.page.keyboard.press(".")
    assert one.page.locator("#finding-2").get_attribute("data-chosen") == ""
    one.page.keyboard.press(",")
    assert one.page.locator("#finding-1").get_attribute("data-chosen") == ""
    assert one.page.evaluate("document.activeElement.closest('li').id") == "finding-1"
    chosen = one.settled()
    one.page.keyboard.press("0")
    assert one.settled() == pytest.approx(first)
    one.page.keyboard.press("f")
    assert one.settled() == pytest.approx(chosen)
    one.page.keyboard.press("?")
    assert one.page.locator("#keys").is_visible()
    one.page.keyboard.press("Escape")
    assert not one.page.locator("#keys").is_visible()


def test_dragging_a_box_zooms_and_a_double_click_shows_all(opened, small):
    one = opened().goto(small)
    whole = one.settled()
    box = one.page.locator("#figure").bounding_box()
    one.page.mouse.move(box["x"] + 200, box["y"] + 180)
    one.page.mouse.down()
    one.page.mouse.move(box["x"] + 400, box["y"] + 185, steps=4)
    one.page.mouse.up()
    start, end = one.settled()
    assert whole[0] < start < end < whole[1]
    one.page.mouse.dblclick(box["x"] + 300, box["y"] + 200)
    assert one.settled() == pytest.approx(whole)


def test_copying_the_filter_and_the_command(opened, small):
    one = opened(permissions=["clipboard-read", "clipboard-write"]).goto(small)
    for what in ("filter", "command"):
        one.page.click(f"[data-copies='{what}-1']")
        one.page.wait_for_selector(f"[data-copies='{what}-1'][data-done]")
        assert one.page.evaluate("navigator.clipboard.readText()") == one.page.text_content(f"#{what}-1")
    assert one.page.text_content("#command-1") == "wlanlens evidence out.wlanlens 1"
    assert one.page.text_content("#filter-1").startswith("frame.number in {")


def test_hover_connects_the_list_and_the_figure(opened, small):
    one = opened().goto(small)
    shapes = "document.querySelectorAll('#figure .shapelayer path').length"
    assert one.page.evaluate(shapes) == 0
    one.page.hover("#finding-1 h3")
    one.page.wait_for_function(shapes + " === 1")
    one.page.click("#finding-1 .show")
    one.settled()
    box = one.page.locator("#figure").bounding_box()
    one.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    one.page.wait_for_selector("#finding-1[data-pointed]")
    assert "Spurious timeout" in one.page.text_content("#tip")


def test_pointing_at_a_segment_describes_it(opened, small):
    one = opened().goto(small)
    one.page.click("#finding-1 .show")
    start, end = one.settled()
    tips = one.page.evaluate(
        """async ([x0, x1]) => {
          const box = document.getElementById("figure"), frame = box.getBoundingClientRect(), out = [];
          for (let y = 90; y < 380; y += 4) for (let x = 60; x < box.clientWidth - 12; x += 6) {
            const at = { clientX: frame.left + x, clientY: frame.top + y, bubbles: true };
            box.dispatchEvent(new PointerEvent("pointermove", at));
            const tip = document.getElementById("tip");
            if (!tip.hidden) out.push(tip.textContent);
          }
          return [...new Set(out)];
        }""",
        [start, end],
    )
    assert any("retransmission: timeout (RTO), spurious" in text for text in tips)
    assert any("window" in text for text in tips)
    assert all(text.startswith("packet ") for text in tips)


def test_a_narrow_screen_has_no_sideways_scroll(opened, small):
    for width in (390, 320, 768):
        one = opened(width, 844).goto(small)
        assert one.page.evaluate("document.documentElement.scrollWidth") <= width
        one.page.click("#finding-1 .show")
        one.page.wait_for_timeout(200)
        assert one.page.evaluate("document.getElementById('figure').getBoundingClientRect().top < innerHeight")


def test_dark(opened, small):
    one = opened(color_scheme="dark").goto(small)
    assert one.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    one.page.emulate_media(color_scheme="light")
    one.page.wait_for_function("getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'")


def test_without_javascript_only_the_figure_is_missing(opened, small):
    one = opened(java_script_enabled=False)
    one.page.goto(small.as_uri())
    text = one.page.inner_text("body").replace("\N{NO-BREAK SPACE}", " ")
    assert "went to 2 retransmission timeouts" in text
    assert "RTO wait" in text
    assert "sum" in text
    assert "The timer fired 0.45 s after" in text
    assert "wlanlens evidence out.wlanlens 1" in text
    assert "The figure needs JavaScript" in text
    assert not one.page.locator("button.show").first.is_visible()


def test_not_run_is_never_green(opened, small):
    one = opened().goto(small)
    colours = {
        state: one.page.evaluate(f"getComputedStyle(document.querySelector('.states .{state} dt b')).color")
        for state in ("found", "fine", "not_run", "undecided", "failed")
    }
    assert colours["not_run"] not in (colours["fine"], colours["found"], colours["failed"])
    red, green, blue = (int(v) for v in colours["not_run"].removeprefix("rgb(").removesuffix(")").split(","))
    assert green <= max(red, blue)


BAITS = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<b>bold</b><a href='javascript:alert(3)'>a</a>",
    "{{ 7 * 7 }} ${alert(4)} `",
    "\x1b[31mred\u202eevil\u2028\u2029\u200b\x00",
    "<!--<script>",
    "]]>'\"&lt;",
)


def test_hostile_text_is_inert(opened, tmp_path):
    bait = " ".join(BAITS)
    made = synthetic.make(600, 1, name=bait, note=bait, subject=bait, sentence=bait, display_filter=bait)
    made.trace._endpoints = {0: (bait, 1, bait, 2)}
    made.states[0] = synthetic.DetectorState(bait, bait, "failed", bait)
    path = tmp_path / "report.html"
    folder = Path("<img src=x onerror=alert(5)>'; rm -rf x")
    page.write(
        folder,
        trace=made.trace,
        findings=made.findings,
        ledger=made.ledger,
        states=made.states,
        verdict=bait,
        connections=1,
        out_path=path,
    )
    one = opened(permissions=["clipboard-read", "clipboard-write"]).goto(path)
    one.page.click("#finding-1 .show")
    one.settled()
    one.page.hover("#figure", position={"x": 300, "y": 10})
    assert one.page.evaluate("document.scripts.length") == 5
    assert one.page.evaluate("document.querySelectorAll('body img, body a:not([href^=\"#\"])').length") == 0
    assert not any(c in path.read_text("utf-8") for c in "\x1b\u202e\u2028\u2029\u200b\x00")
    assert "<b>bold</b>" in one.page.inner_text("#finding-1")
    assert "\\x1b[31mred\\u202eevil" in one.page.inner_text("#finding-1")
    assert (
        one.page.text_content("#command-1") == """wlanlens evidence '<img src=x onerror=alert(5)>'"'"'; rm -rf x' 1"""
    )


def test_data_too_long_for_the_page_is_in_files_next_to_it(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "MOST_INSIDE", 10_000)
    path = written(tmp_path, synthetic.make(3000, 3))
    data_files = sorted((tmp_path / "report_data").iterdir())
    assert data_files
    one = opened().goto(path)
    for number in range(3):
        one.page.select_option("#flow", str(number))
        one.page.wait_for_selector(f"#figure[data-flow='{number}']")
    data_files[0].unlink()
    lonely = opened()
    lonely.page.goto(path.as_uri())
    lonely.page.wait_for_selector("#figure[data-failed]")
    assert "keep its folder next to this page" in lonely.page.inner_text("#figure")
    lonely.trouble.clear()


def test_a_reduced_flow_keeps_every_retransmission(opened, tmp_path, monkeypatch):
    made = synthetic.make(20_000, 1)
    whole = views.view(made.trace, views.data_flows(made.trace, [])[0][0], made.ledger)
    monkeypatch.setattr(views, "MOST_ROWS", 5_000)
    monkeypatch.setattr(views, "REDUCED_ROWS", 2_000)
    reduced = views.view(made.trace, whole.key, made.ledger)
    assert reduced.reduced
    assert reduced.marks == whole.marks
    one = opened().goto(written(tmp_path, made))
    assert "ordinary segments are drawn as one stroke" in one.page.inner_text(".stage")


def test_findings_of_one_code_are_folded_and_open_when_chosen(opened, tmp_path):
    made = synthetic.make(30_000, 2)
    kinds = [group for group in grouped(made.findings) if len(group.members) > 1]
    assert kinds
    one = opened().goto(written(tmp_path, made))
    order = one.page.evaluate("JSON.parse(document.getElementById('page').textContent).findings.map((f) => f.n)")
    for group in kinds:
        worst, *others = (number for number, _ in group.members)
        assert one.page.locator(f"#finding-{worst} .show").is_visible()
        assert not any(one.page.locator(f"#finding-{number} .show").is_visible() for number in others)
    for _ in range(order.index(others[0]) + 1):
        one.page.keyboard.press(".")
        one.settled()
    assert one.page.locator(f"#finding-{others[0]} .show").is_visible()


def test_no_flow_at_all(opened, tmp_path):
    made = synthetic.nothing()
    path = written(tmp_path, made)
    one = opened()
    one.page.goto(path.as_uri())
    assert "nothing to draw" in one.page.inner_text("body")
    for key in "wasdf,.0":
        one.page.keyboard.press(key)
    one.page.keyboard.press("?")
    assert one.page.locator("#keys").is_visible()
    assert path.stat().st_size < 200_000


@pytest.mark.timeout(120)
def test_a_million_packets_open_in_little_memory(opened, tmp_path):
    path = written(tmp_path, synthetic.many(1_000_000))
    one = opened()
    session = one.page.context.new_cdp_session(one.page)
    session.send("Performance.enable")
    one.page.goto(path.as_uri())
    one.page.wait_for_selector("#figure[data-x0]", timeout=60_000)
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    # A million rows as JavaScript objects would take 100 MB: the page holds what its pixels can show.
    assert metrics["JSHeapUsedSize"] < 60e6
    assert path.stat().st_size <= 6_000_000
