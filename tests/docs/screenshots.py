"""`make screenshots`: every picture of docs/, taken in Chromium from reports and plots. `python -m tests.docs.screenshots NAME ...` takes some."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wlanlens as wl
from tests import firing
from tests.captures import ROOT, SAMPLES
from tests.docs.cases import CASES, Case
from tests.docs.study_figures import FIGURES, drawn, file_name
from tests.firing import Small
from tests.report.conftest import ARGS, CHROMIUM
from wlanlens import registry

DOCS = ROOT / "docs"
#: No picture of the documentation is larger.
MOST_BYTES = 150_000
WIDTH, HEIGHT = 900, 360


def save(png: bytes, path: Path) -> None:
    """Write a picture with a palette of 128 colours; fewer if it is too large."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB")
    for colours in (128, 64, 32, 16):
        out = io.BytesIO()
        image.quantize(colours, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        if out.tell() <= MOST_BYTES:
            break
    else:
        raise ValueError(f"{path.name} has {out.tell()} bytes")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(out.getvalue())
    print(f"{path.relative_to(ROOT)}: {out.tell()} bytes", flush=True)


def figure(plot: str, small: Small, code: str, window_s: float | None, title: str) -> tuple[Any, int]:
    """A plot of a world around its costliest finding of this code, or of any code where there is none of this one."""
    trace = firing.trace(small)
    found = wl.detect(trace)
    own = [finding for finding in found if finding.code == code]
    about = (own or list(found))[:1]
    options: dict[str, Any] = {}
    if plot in ("time_sequence", "rtt_flight"):
        options = {"capture": "sender.pcap"}
        if own:
            options = {"flow": own[0].flow or 0, "direction": own[0].direction or "a2b", "capture": own[0].capture}
    made = registry.units("plots")[plot](trace, own, **options)  # type: ignore[operator]
    height = HEIGHT + 100 * (plot == "airtime_share")
    made.update_layout(title={"text": title, "font": {"size": 15}}, width=WIDTH, height=height)
    made.update_layout(margin={"t": 48, "b": 44, "l": 64, "r": 16})
    if window_s is not None:
        middle = (about[0].t_start_ns + about[0].t_end_ns) / 2e9 if about else small.duration_s / 2
        start = max(0.0, middle - window_s / 2)
        made.update_xaxes(range=[start, start + window_s])
    return made, len(own)


def finding_figure(browser: Any, code: str, case: Case) -> None:
    """The case above, its look-alike below."""
    above, found = figure(case.plot, case.shown, code, case.window_s, f"{code}: scenario {case.shown.scenario}")
    below, none = figure(case.plot, case.alike, code, case.window_s, f"look-alike: scenario {case.alike.scenario}")
    assert found, f"{code} is not found in {case.shown}"
    assert not none, f"{code} is found in {case.alike}"
    parts = [
        one.to_html(full_html=False, include_plotlyjs=first, config={"staticPlot": True})
        for one, first in ((above, True), (below, False))
    ]
    page = browser.new_page(viewport={"width": WIDTH, "height": above.layout.height + below.layout.height})
    page.set_content("<body style='margin:0'>" + "".join(parts))
    page.wait_for_timeout(400)
    save(page.screenshot(), DOCS / "findings" / f"{code}.png")
    page.close()


def study_figures(browser: Any, study: str) -> None:
    """The figures of a study's page."""
    for one in FIGURES[study]:
        made = drawn(one, WIDTH)
        page = browser.new_page(viewport={"width": WIDTH, "height": one.height})
        page.set_content("<body style='margin:0'>" + made.to_html(full_html=False, config={"staticPlot": True}))
        page.wait_for_timeout(400)
        save(page.screenshot(), DOCS / "studies" / file_name(study, one))
        page.close()


def report(browser: Any, captures: list[Path]) -> Any:
    """An open report at 1200 pixels, its figure drawn."""
    analysis = wl.analyze(list(captures), out=f"{captures[0].stem}.wlanlens")
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(Path(analysis.report).resolve().as_uri())
    page.wait_for_timeout(1500)
    return page


def _tutorial(browser: Any) -> None:
    page = report(browser, [SAMPLES / "mixed_newreno.sender.pcap"])
    save(page.screenshot(), DOCS / "report.png")
    page.close()
    page = report(browser, [SAMPLES / "usb_ack_holding.sender.pcap"])
    save(page.screenshot(), DOCS / "img" / "tutorial-verdict.png")
    page.click("#finding-1 .show")
    page.wait_for_timeout(800)
    page.locator("#figure").scroll_into_view_if_needed()
    save(page.screenshot(), DOCS / "img" / "tutorial-finding.png")
    page.close()
    page = report(browser, sorted(SAMPLES.glob("usb_ack_holding.*.pcap")))
    page.click("#finding-1 .show")
    page.wait_for_timeout(800)
    page.locator("#figure").scroll_into_view_if_needed()
    save(page.screenshot(), DOCS / "img" / "tutorial-together.png")
    page.close()


#: The gallery: a picture's name, and the samples of the report.
GALLERY = {
    "wired": ["bloat100.sender.pcap"],
    "air": ["burst_loss.air.pcap"],
    "usb": ["usb_ack_holding.usb.pcap"],
    "four": ["usb_ack_holding.sender.pcap", "usb_ack_holding.usb.pcap", "usb_ack_holding.air.pcap", "usb_ack_holding.receiver.pcap"],
    "nothing": ["clean_cubic.sender.pcap"],
}  # fmt: skip


def _gallery(browser: Any) -> None:
    for name, files in GALLERY.items():
        page = report(browser, [SAMPLES / file for file in files])
        save(page.screenshot(), DOCS / "img" / f"gallery-{name}.png")
        page.close()


def main(wanted: list[str]) -> int:
    """Take the pictures whose names are wanted: tutorial, gallery, study-NAME, codes of findings; all if none is."""
    from playwright.sync_api import sync_playwright

    jobs: dict[str, Callable[[Any], None]] = {"tutorial": _tutorial, "gallery": _gallery}
    for study in FIGURES:
        jobs[f"study-{study}"] = lambda browser, study=study: study_figures(browser, study)  # type: ignore[misc]
    for code, case in CASES.items():
        jobs[code] = lambda browser, code=code, case=case: finding_figure(browser, code, case)  # type: ignore[misc]
    failed = 0
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        for name in wanted or jobs:
            try:
                jobs[name](browser)
            except AssertionError as error:
                failed += 1
                print(f"{name}: {error}", file=sys.stderr, flush=True)
        browser.close()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) and 1)
