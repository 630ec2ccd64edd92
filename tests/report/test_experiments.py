"""The page of reproduced experiments in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wlanlens.report import experiments


def figure(**more: Any) -> Any:
    go = pytest.importorskip("plotly.graph_objects")
    made = go.Figure(layout={"title": {"text": "a title"}, "xaxis": {"title": {"text": "d"}}})
    made.add_scatter(x=np.arange(5), y=np.array([1.0, 2.0, np.nan, 4.0, 5.0]), line={"color": "black"}, name="one")
    made.add_scatter(x=[1, 2], y=[2, 3], mode="markers", name="two")
    return made.update_layout(**more)


def section(name: str, verdict: str, figures: int) -> experiments.Section:
    line = experiments.Line("throughput, Mb/s", "5.16", "5 to 5.3", "Q", "5.1", verdict, "the air " * 12)
    return experiments.Section(
        name, "What it shows.\n\nMore of\nit.", "table 1", [line], [("A figure.", figure())] * figures
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("experiments") / "page.html"
    studies = [
        experiments.Study(
            "seawind", "A slow link", [section("first", "holds", 2), section("second", "fails", 0)], ["third"]
        ),
        experiments.Study("window_size", "Windows", [section("fourth", "not asserted", 1)]),
    ]
    models = [experiments.Model("rto", "A timer.\n\nIts rest.", [("rto_s(backoff=4)", "Equation 1.", "95.2")])]
    experiments.write(path, verdict="1 of 2 asserted rows hold.", studies=studies, models=models)
    return path


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_are_drawn_without_errors(opened: Any, page: Path, width: int, scheme: str) -> None:
    one = opened(width, 900, color_scheme=scheme)
    one.page.goto(page.as_uri())
    assert one.page.locator("[data-figure]").count() == 3
    for box in one.page.locator("[data-figure]").all():
        box.scroll_into_view_if_needed()
    one.page.wait_for_function("() => document.querySelectorAll('[data-drawn]').length === 3")
    assert one.page.locator(".drawn svg.main-svg").count() >= 3
    assert one.page.evaluate("document.documentElement.scrollWidth") <= width
    assert [url for url in one.requests if url.startswith("file:")] == [page.as_uri()]
    # Black in a study's figure becomes the reader's text colour.
    ink = one.page.evaluate("getComputedStyle(document.body).color")
    assert one.page.evaluate("getComputedStyle(document.querySelector('.scatterlayer path.js-line')).stroke") == ink


def test_figures_follow_the_readers_light_and_dark(opened: Any, page: Path) -> None:
    one = opened(color_scheme="light")
    one.page.goto(page.as_uri())
    one.page.wait_for_selector("[data-figure='0'][data-drawn]")
    stroke = "getComputedStyle(document.querySelector('.scatterlayer path.js-line')).stroke"
    before = one.page.evaluate(stroke)
    one.page.emulate_media(color_scheme="dark")
    one.page.wait_for_function(f"() => {stroke} !== '{before}'")
    assert one.page.evaluate(stroke) != before


def test_without_javascript_the_rows_are_there(opened: Any, page: Path) -> None:
    one = opened(java_script_enabled=False)
    one.page.goto(page.as_uri())
    text = one.page.inner_text("body")
    for words in (
        "1 of 2 asserted rows hold",
        "5 to 5.3",
        "fails",
        "not asserted",
        "Not run: third.",
        "95.2",
        "JavaScript",
    ):
        assert words in text
    assert one.page.locator("[data-figure]").first.is_hidden()


def test_a_failing_row_is_marked_by_text_and_colour(opened: Any, page: Path) -> None:
    one = opened()
    one.page.goto(page.as_uri())
    colour = "getComputedStyle(document.querySelector('tr.{} .verdict')).color"
    colours = {v: one.page.evaluate(colour.format(v)) for v in ("holds", "fails", "not-asserted")}
    assert len(set(colours.values())) == 3
    assert "fails" in one.page.inner_text("tr.fails .verdict")
