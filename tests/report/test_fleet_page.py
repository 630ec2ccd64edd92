"""The page of all traces: worst first, a filter, and names that do nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wlanlens.pipeline.batch.runs_table import to_table
from wlanlens.report import fleet_page

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "x\x1b[2J\u202e",
    'a" onmouseover="alert(3)',
    "#?%2F",
]


def row(run: str, status: str = "done", lost_s: float = 0.0, **more: Any) -> dict[str, Any]:
    common = {
        "run": run,
        "trace": run,
        "status": status,
        "reason": "",
        "captures": [run],
        "points": [""],
        "size_bytes": 10,
    }
    done = {
        "connections": 1, "verdict": f"{run} was slow", "cause": "rto_wait" if lost_s else "", "cause_s": lost_s,
        "lost_s": lost_s, "life_s": 10.0,
        "ledger": [{"category": "path", "ns": int((10 - lost_s) * 1e9)}, {"category": "rto_wait", "ns": int(lost_s * 1e9)}],
    }  # fmt: skip
    return {**common, "attempts": 1, "seconds": 1.0, **(done if status == "done" else {"reason": "why not"}), **more}


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "index.html"
    path.write_text(fleet_page.html(to_table(rows), {r["run"]: f"runs/{r['run']}/report.html" for r in rows}), "utf-8")
    return path


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [
        row("small", lost_s=1),
        row("large", lost_s=4),
        row("none"),
        row("bad", "unreadable"),
        row("slow", "timeout"),
    ]
    rows += [row(name, lost_s=0.5, verdict=name) for name in HOSTILE] + [
        row(f"r{name}", "killed", reason=name) for name in HOSTILE
    ]
    return written(tmp_path_factory.mktemp("fleet"), rows)


def shown(page: Any) -> list[str]:
    return list(page.evaluate("[...document.querySelectorAll('#rows tr:not([hidden]) th')].map(e => e.textContent)"))


def test_the_worst_are_first_and_the_filter_finds(opened: Any, fleet: Path) -> None:
    page = opened(1400, 900).page
    page.goto(fleet.as_uri())
    names = shown(page)
    assert names[:2] == ["large", "small"]
    assert len(names) == 15
    headline = page.inner_text("h1").replace("\N{NO-BREAK SPACE}", " ")
    assert headline.startswith("8 traces analysed, 7 traces not: connections lost 7.5 s (9 %)")
    page.fill("#text", "LARGE slow")
    assert shown(page) == ["large"]
    assert page.inner_text("#shown") == "1 of 15 traces"
    page.keyboard.press("Enter")
    page.fill("#text", "")
    page.select_option("#status", "timeout")
    assert shown(page) == ["slow"]
    page.select_option("#status", "")
    page.select_option("#cause", "rto_wait")
    assert len(shown(page)) == 7
    assert page.get_attribute("#rows tr a", "href") == "runs/large/report.html"


def test_hostile_names_do_nothing(opened: Any, fleet: Path) -> None:
    one = opened(1400, 900)
    one.page.goto(fleet.as_uri())
    assert one.page.evaluate("document.querySelectorAll('img, #rows script').length") == 0
    assert HOSTILE[0] in shown(one.page)
    assert any("\\x1b[2J" in name for name in shown(one.page))
    links = one.page.evaluate("[...document.querySelectorAll('#rows a')].map(e => e.getAttribute('href'))")
    assert all(link.startswith("runs/") and not set(link) & set('<>"?#') for link in links)
    assert one.requests == [fleet.as_uri()]


def test_a_narrow_screen_has_no_sideways_scroll(opened: Any, fleet: Path) -> None:
    for width in (390, 320, 768, 1400):
        page = opened(width, 844).page
        page.goto(fleet.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("rows", "headline"),
    [
        ([row("a")], "1 trace analysed; no time was lost in 10 s of connections."),
        ([row("a", ledger=[], life_s=0.0)], "1 trace analysed; no connection carried data."),
        ([row("a", "killed")], "No trace was analysed."),
    ],
)
def test_headlines(tmp_path: Path, rows: list[dict[str, Any]], headline: str) -> None:
    assert f"<h1>{headline}</h1>" in written(tmp_path, rows).read_text("utf-8").replace("\N{NO-BREAK SPACE}", " ")


def test_a_very_large_batch_says_what_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_page, "MOST_ROWS", 2)
    text = written(tmp_path, [row(f"t{n}") for n in range(5)]).read_text("utf-8")
    assert "3 more traces are in runs.parquet." in text
    assert text.count('data-status="done"') == 2
