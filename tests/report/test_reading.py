"""What a reader does with the page: links, the minimap, hover, files, paper, and the rules of accessible pages."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl
from tests.captures import samples
from tests.report import synthetic
from tests.report.conftest import written
from tests.report.test_stories import with_remedies

WIDTHS = (1440, 1024, 390)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of four captures: all sections."""
    out = tmp_path_factory.mktemp("full") / "out"
    return wl.analyze(samples()["usb_ack_holding"], out=out).report


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with remedies and savings."""
    return written(tmp_path_factory.mktemp("advised"), with_remedies())


def link_of(one: Any) -> str:
    """The address, once it no longer changes."""
    before = None
    while before != (before := one.page.evaluate("location.hash")):
        one.page.wait_for_timeout(400)
    return str(before)


def at_link(opened: Any, path: Path, link: str) -> Any:
    one = opened()
    one.page.goto(path.as_uri() + link)
    one.page.wait_for_selector("#figure[data-x0]", timeout=30_000)
    one.settled()
    return one


# Links.


def test_a_link_opens_the_finding_that_was_shown(opened: Any, small: Path) -> None:
    one = opened().goto(small)
    assert one.page.evaluate("location.hash") == ""
    one.choose(2)
    span = one.settled()
    link = link_of(one)
    assert link == "#finding-2"
    other = at_link(opened, small, link)
    assert other.page.locator("#finding-2").get_attribute("data-chosen") == ""
    assert other.settled() == pytest.approx(span)
    assert other.page.locator("#finding-2").is_visible()


def test_a_link_opens_the_zoom_and_the_flow(opened: Any, small: Path) -> None:
    one = opened().goto(small)
    one.page.select_option("#flow", "1")
    one.page.wait_for_selector("#figure[data-flow='1']")
    one.settled()
    one.page.keyboard.press("w")
    one.page.keyboard.press("w")
    one.page.keyboard.press("d")
    span = one.settled()
    other = at_link(opened, small, link_of(one))
    assert other.page.locator("#figure").get_attribute("data-flow") == "1"
    assert other.settled() == pytest.approx(span, abs=(span[1] - span[0]) / 100)


def test_a_link_opens_the_packet(opened: Any, small: Path) -> None:
    packet = 40
    other = at_link(opened, small, f"#packet={packet}&from=0.1&to=0.2")
    other.page.wait_for_function(f"document.getElementById('status').textContent.startsWith('packet {packet} at')")
    assert other.page.evaluate("location.hash") == f"#packet={packet}&from=0.1&to=0.2"


def test_a_click_marks_a_packet_and_the_link_holds_it(opened: Any, small: Path) -> None:
    one = opened().goto(small)
    one.choose(1)
    one.settled()
    at = one.page.evaluate(
        """() => {
          const box = document.getElementById("figure"), frame = box.getBoundingClientRect(), tip = document.getElementById("tip");
          for (let y = 80; y < 400; y += 4) for (let x = 80; x < box.clientWidth - 12; x += 6) {
            box.dispatchEvent(new PointerEvent("pointermove", { clientX: frame.left + x, clientY: frame.top + y, bubbles: true }));
            if (!tip.hidden && tip.textContent.startsWith("packet")) return [frame.left + x, frame.top + y, parseInt(tip.textContent.slice(7))];
          }
        }"""
    )
    one.page.mouse.click(at[0], at[1])
    assert f"packet={at[2]}" in link_of(one)


def test_a_link_opens_the_journey(opened: Any, full: Path) -> None:
    one = opened().goto(full)
    one.choose(1, "journey")
    one.page.wait_for_selector("#journey:not([hidden])")
    held = one.page.locator("#journey").get_attribute("data-shown")
    link = link_of(one)
    assert "journey=" in link
    other = at_link(opened, full, link)
    other.page.wait_for_selector("#journey:not([hidden])")
    assert other.page.locator("#journey").get_attribute("data-shown") == held


def test_nonsense_in_the_address_is_ignored(opened: Any, small: Path) -> None:
    one = opened().goto(small)
    whole = one.settled()
    for link in ("#finding-999", "#packet=-1&from=x", "#flow=77&journey=1e9", "#<b>", "#packet=99999999", "#%E0%A4%A"):
        one.page.evaluate("(link) => { location.hash = link; }", link)
        one.page.wait_for_timeout(300)
        assert one.settled() == pytest.approx(whole)


# The minimap and the pointer.


def test_the_minimap_shows_and_moves_the_part_in_view(opened: Any, small: Path) -> None:
    one = opened().goto(small)
    whole = one.settled()
    window = one.page.locator(".stage .minimap .window")
    assert not window.is_visible()
    one.page.keyboard.press("w")
    one.page.keyboard.press("w")
    before = one.settled()
    assert window.is_visible()
    box, part = one.page.locator(".stage .minimap").bounding_box(), window.bounding_box()
    share = part["width"] / (box["width"] - 82)
    assert share == pytest.approx((before[1] - before[0]) / (whole[1] - whole[0]), rel=0.05)
    middle = part["x"] + part["width"] / 2
    one.page.mouse.move(middle, part["y"] + 10)
    one.page.mouse.down()
    one.page.mouse.move(middle + 60, part["y"] + 10, steps=3)
    one.page.mouse.up()
    after = one.settled()
    assert after[0] > before[0]
    assert after[1] - after[0] == pytest.approx(before[1] - before[0])
    one.page.locator(".stage .minimap").press("ArrowLeft")
    assert one.settled()[0] < after[0]


def test_every_rare_mark_is_named_at_full_view(opened: Any, small: Path) -> None:
    one = opened().goto(small)
    one.settled()
    assert rare_marks_missing(one) == []


def rare_marks_missing(one: Any) -> list[int]:
    """Packets with a letter that the tip does not name when the pointer is on their mark at full view."""
    made = synthetic.make(3000, 3)
    rows = made.trace.table("segments").to_pandas()
    rows = rows[(rows.flow == 0) & (rows.direction == "a2b") & (rows.transmission == "retransmission")]
    assert len(rows) > 3
    start, end = one.range()
    out = []
    for row in rows.itertuples():
        words = one.page.evaluate(
            """([share]) => {
              const box = document.getElementById("figure"), frame = box.getBoundingClientRect(), tip = document.getElementById("tip");
              const plot = box.querySelector(".xy .nsewdrag, .nsewdrag").getBoundingClientRect();
              const out = [];
              for (let y = plot.top; y < plot.bottom; y += 4) {
                box.dispatchEvent(new PointerEvent("pointermove", { clientX: plot.left + share * plot.width, clientY: y, bubbles: true }));
                if (!tip.hidden) out.push(tip.textContent);
              }
              return out.join(" ");
            }""",
            [(row.t_ns / 1e9 - start) / (end - start)],
        )
        if not re.search(rf"\b{row.packet}\b", words):
            out.append(int(row.packet))
    return out


# Files and tables.


def saved(one: Any, kind: str, folder: Path) -> Path:
    with one.page.expect_download() as waiting:
        one.page.click(f".stage [data-save='{kind}']")
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_each_figure_has_a_table_and_files(opened: Any, full: Path, tmp_path: Path) -> None:
    one = opened(accept_downloads=True).goto(full)
    folded = one.page.locator("details.chart").count()
    assert folded >= 3
    assert one.page.locator(".frame").count() == one.page.locator("details.data").count() == 3 + folded
    one.page.locator(".stage details.data > summary").click()
    one.page.wait_for_selector(".stage details.data tbody tr")
    rows = list(csv.DictReader(saved(one, "csv", tmp_path).read_text("utf-8").splitlines()))
    shown = one.page.locator(".stage details.data tbody tr").count()
    assert shown == min(200, len(rows))
    assert {"packet", "t_s", "kind", "retransmission"} <= set(rows[0])
    assert one.page.locator(".stage details.data tbody tr").first.inner_text().split()[0] == rows[0]["packet"]
    svg = saved(one, "svg", tmp_path).read_text("utf-8")
    assert svg.count("<image") == 6
    assert "10.0.0.1:40000" in svg
    assert "receive window" in svg
    png = saved(one, "png", tmp_path).read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 20_000


# Paper.


def test_a_print_keeps_figures_and_open_details(opened: Any, full: Path, tmp_path: Path) -> None:
    one = opened(color_scheme="dark").goto(full)
    one.page.wait_for_selector("#bus-figure[data-x0]", timeout=30_000)
    one.page.wait_for_selector("#air-figure[data-x0]", timeout=30_000)
    pdf = tmp_path / "report.pdf"
    one.page.pdf(path=pdf, format="A4")
    text = subprocess.run(["pdftotext", pdf, "-"], capture_output=True, text=True, check=True).stdout
    assert "seconds since the start of the trace" in text
    assert "outstanding transfers" in text
    assert "not drawn yet" not in text
    # Details that were closed on the screen.
    assert "SSID" in text or "BSSID" in text
    # Three figures of six, three and two pictures of marks, besides what colours the bars.
    listed = subprocess.run(["pdfimages", "-list", pdf], capture_output=True, text=True, check=True).stdout
    assert listed.count("image") >= 6
    subprocess.run(["pdftoppm", "-r", "40", "-gray", pdf, tmp_path / "page"], check=True)
    first = sorted(tmp_path.glob("page*.pgm"))
    assert first
    # Light paper, whatever the screen is: most of each page is white.
    for path in first:
        data = path.read_bytes()
        pixels = data[data.index(b"255\n") + 4 :]
        assert sum(p > 230 for p in pixels) > 0.5 * len(pixels)
    # Afterwards the page is as before.
    assert one.page.locator(".printed").count() == 0
    assert one.page.evaluate("document.querySelectorAll('details[open]').length") == 0


@pytest.fixture(autouse=True)
def _pdf_tools() -> None:
    if not shutil.which("pdftoppm"):
        pytest.skip("pdftoppm is not installed")


# Layout and accessibility.

#: Elements that leave the page, text that is cut, and siblings that overlap.
FAULTS = """() => {
  // The table of a figure's data scrolls in a region of its own, which the keyboard reaches.
  const out = [], wide = document.documentElement.clientWidth, name = (e) => `${e.tagName} ${e.id || e.className} ${(e.textContent || "").trim().slice(0, 40)}`;
  if (document.documentElement.scrollWidth > wide) out.push("the page scrolls sideways");
  const seen = (e) => { const b = e.getBoundingClientRect(); return e.checkVisibility() && b.width > 0 && b.height > 0; };
  for (const e of document.querySelectorAll("body *")) {
    if (!seen(e) || e.closest(".js-plotly-plot, svg, .skip, .aside, .tip, .crosshair, .bar span, .data .wide > *")) continue;
    const b = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (b.left < -1 || b.right > wide + 1) out.push(`leaves the page: ${name(e)}`);
    if (e.matches(".wide:not(.data *)") && e.scrollWidth > e.clientWidth + 1) out.push(`columns are cut: ${name(e)}`);
    if (/hidden|clip/.test(style.overflowX) && !e.closest(".bar") && e.scrollWidth > e.clientWidth + 1) out.push(`text is cut: ${name(e)}`);
  }
  // A name in a bar is whole or not visible.
  for (const e of document.querySelectorAll(".bar i")) {
    const a = e.getBoundingClientRect(), b = e.parentElement.getBoundingClientRect();
    if (a.top < b.bottom - 1 && a.right > b.right + 1) out.push(`a bar's name is cut: ${name(e)}`);
  }
  const parts = ["header, main > *, .desk > *, .desk section > *, .top-causes > li, .findings > li, .legends > div, footer",
    "table:not(.data *), .data > *, .frame > div:not(.tip, .crosshair)"];
  const blocks = [...document.querySelectorAll(parts.join())].filter(seen);
  for (let i = 0; i < blocks.length; i++) for (let j = i + 1; j < blocks.length; j++) {
    const [p, q] = [blocks[i], blocks[j]];
    if (p.contains(q) || q.contains(p)) continue;
    const a = p.getBoundingClientRect(), b = q.getBoundingClientRect();
    const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (x > 2 && y > 2) out.push(`overlap: ${name(p)} | ${name(q)}`);
  }
  return out;
}"""


def faults(one: Any) -> list[str]:
    """Faults of the layout with everything closed, and with all details open."""
    found = one.page.evaluate(FAULTS)
    one.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    one.page.wait_for_timeout(200)
    return [*found, *(f"open: {f}" for f in one.page.evaluate(FAULTS))]


def test_nothing_overlaps_or_is_cut(opened: Any, full: Path) -> None:
    one = opened(1440, 900).goto(full)
    for scheme in ("light", "dark"):
        one.page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            one.page.set_viewport_size({"width": width, "height": 900})
            one.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = false; })")
            one.settled()
            assert (scheme, width, faults(one)) == (scheme, width, [])
    one.page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    one.choose(1, "journey")
    one.page.wait_for_selector("#journey:not([hidden])")
    for width in WIDTHS:
        one.page.set_viewport_size({"width": width, "height": 900})
        one.settled()
        assert one.page.evaluate(FAULTS) == []


def test_the_verdict_and_three_causes_are_above_the_fold(opened: Any, advised: Path) -> None:
    one = opened()
    one.page.goto(advised.as_uri())
    for width, height in ((1440, 900), (1024, 900), (390, 844)):
        one.page.set_viewport_size({"width": width, "height": height})
        bottoms = one.page.evaluate(
            "[...document.querySelectorAll('h1, .top-causes li')].map((e) => e.getBoundingClientRect().bottom)"
        )
        assert len(bottoms) >= 2
        assert max(bottoms) <= height


def test_axe_finds_no_serious_fault(opened: Any, full: Path, advised: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed").Axe()
    for path, width in ((full, 1440), (advised, 390)):
        one = opened(width, 900).goto(path)
        one.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        # The time of a judgement grows with the square of the cells, and one template writes all cells of a table.
        one.page.evaluate(
            "document.querySelectorAll('tbody tr:nth-child(n+9), :is(td, th):nth-child(n+13)').forEach((e) => e.remove())"
        )
        for scheme in ("light", "dark"):
            one.page.emulate_media(color_scheme=scheme)
            one.settled()
            # Only violations are wanted; the page has no frames, and its styles are in it.
            options = {"resultTypes": ["violations"], "preload": False, "iframes": False}
            grave = [
                (v["id"], [node["target"] for node in v["nodes"]][:5], v["nodes"][0]["failureSummary"][:300])
                for v in axe.run(one.page, options=options).response["violations"]
                if v["impact"] in ("serious", "critical")
            ]
            assert (path.parent.name, scheme, grave) == (path.parent.name, scheme, [])


def test_the_keyboard_reaches_everything_in_reading_order(opened: Any, small: Path) -> None:
    one = opened().goto(small)
    one.page.evaluate("scrollTo(0, 0)")
    one.page.keyboard.press("Tab")
    assert one.page.evaluate("document.activeElement.className") == "skip"
    one.page.keyboard.press("Enter")
    assert one.page.evaluate("document.activeElement.id") == "main"
    tops = one.page.evaluate(
        """[...document.querySelectorAll("main a, main button, main select, main summary, main [tabindex='0']")]
        .filter((e) => e.getClientRects().length && e.tabIndex >= 0).map((e) => e.closest("main > *").getBoundingClientRect().top)"""
    )
    assert tops == sorted(tops)
    assert one.page.locator("header, main, footer").count() == 3


def test_the_window_line_stays_in_the_plot(opened: Any, tmp_path: Path) -> None:
    """A window far above the data is drawn as dashes at the top edge of its row."""
    made = synthetic.make(600, 1)
    import pyarrow as pa

    rows = made.trace.table("segments").to_pylist()
    for row in rows:
        if row["peer_window_bytes"]:
            row["peer_window_bytes"] = 900_000_000
    made.trace._held["segments"] = pa.Table.from_pylist(rows, schema=made.trace.table("segments").schema)
    one = opened().goto(written(tmp_path, made))
    colour = json.loads(one.page.text_content("#page"))["lines"]["window"][0]
    found = one.page.evaluate(
        """async (colour) => {
          const wanted = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)), out = [];
          for (const image of document.querySelectorAll("#figure image")) {
            const picture = new Image();
            picture.src = image.getAttribute("href") ?? image.getAttribute("xlink:href");
            await picture.decode();
            const canvas = document.createElement("canvas");
            [canvas.width, canvas.height] = [picture.width, picture.height];
            const pen = canvas.getContext("2d");
            pen.drawImage(picture, 0, 0);
            const { data } = pen.getImageData(0, 0, canvas.width, 4);
            let count = 0;
            for (let i = 0; i < data.length; i += 4) if (wanted.every((v, k) => Math.abs(data[i + k] - v) < 12) && data[i + 3] > 200) count++;
            out.push(count / canvas.width);
          }
          return out;
        }""",
        colour,
    )
    assert sum(share > 0.3 for share in found) == 2
