"""A headless Chromium for tests of the report, and reports of synthetic analyses."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report import synthetic
from wlanlens.report import page

CHROMIUM = "/usr/bin/chromium"
ARGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
    # Each page of a whole Chromium would draw the popup of its address bar in a renderer of its own: a third of the time.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup", "--in-process-gpu",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium; tests that need it are skipped if it is not installed."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not shutil.which(CHROMIUM):
        pytest.skip(f"{CHROMIUM} is not installed")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield chromium
        chromium.close()


class Opened:
    """A page, and a record of everything that a report must not do."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.trouble: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda m: self.trouble.append(f"console {m.type}: {m.text}"))
        page.on("pageerror", lambda e: self.trouble.append(f"error: {e}"))
        page.on("dialog", lambda d: (self.trouble.append(f"dialog: {d.message}"), d.dismiss()))
        page.on("popup", lambda p: self.trouble.append(f"popup: {p.url}"))
        page.on("request", lambda r: self.requests.append(r.url))

    def goto(self, path: Path) -> Opened:
        """Open a file and wait until the figure is drawn."""
        self.page.goto(path.as_uri())
        self.page.locator("#figure").scroll_into_view_if_needed()
        self.page.wait_for_selector("#figure[data-x0]", timeout=30_000)
        return self

    def range(self) -> tuple[float, float]:
        """The x range that the figure shows."""
        box = self.page.locator("#figure")
        return float(box.get_attribute("data-x0")), float(box.get_attribute("data-x1"))

    def settled(self) -> tuple[float, float]:
        """The x range once it no longer changes."""
        before = None
        while before != (before := self.range()):
            self.page.wait_for_timeout(150)
        return self.range()

    def choose(self, number: int, button: str = "show") -> None:
        """Press "show" or "journey" of a finding; unfold its group first if needed."""
        item = f"#finding-{number}"
        self.page.eval_on_selector(item, "(e) => { const d = e.closest('details'); if (d) d.open = true; }")
        self.page.click(f"{item} .{button}")

    @property
    def foreign(self) -> list[str]:
        """Requests other than for files and data of the page."""
        return [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """A function that opens a new page of a size and colour scheme; errors are checked when the test ends."""
    pages: list[tuple[Any, Opened]] = []

    def make(width: int = 1280, height: int = 900, **options: Any) -> Opened:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        one = Opened(context.new_page())
        pages.append((context, one))
        return one

    yield make
    for context, one in pages:
        context.close()
        assert one.trouble == []
        assert one.foreign == []


def written(folder: Path, made: synthetic.Made, name: str = "report.html", **more: Any) -> Path:
    """The report of a synthetic analysis."""
    path = folder / name
    page.write(
        Path("out.wlanlens"),
        trace=made.trace,
        findings=made.findings,
        ledger=made.ledger,
        states=made.states,
        out_path=path,
        connections=1,
        verdict="10.0.0.1:40000 > 10.0.0.2:5001 took 3.92 s; 0.942 s (24 %) went to 2 retransmission timeouts.",
        **more,
    )
    return path


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of three flows, a few thousand rows."""
    return written(tmp_path_factory.mktemp("small"), synthetic.make(3000, 3))
