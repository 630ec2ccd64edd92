"""The figures for notebooks: traces of the figure object."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.report import synthetic
from wlanlens import registry, tables
from wlanlens.errors import NothingToDraw
from wlanlens.trace import Trace

#: Figures over time, which draw empty axes where there is nothing; the others refuse.
DRAW_EMPTY_AXES = {"airtime_share", "ledger_bar", "rate_over_time", "rtt_flight", "time_sequence", "usb_bytes"}


@pytest.fixture(scope="module")
def made():
    """A synthetic analysis."""
    return synthetic.make(3000, 2)


def names(figure):
    """The names of the traces."""
    return [trace.name for trace in figure.data]


def test_time_sequence_shows_all_that_xplot_shows(made):
    figure = registry.units("plots")["time_sequence"](made.trace, made.findings, flow=0, direction="a2b")
    assert names(figure)[:4] == ["segment", "ACK", "window", "SACK"]
    assert "timeout (RTO), spurious (2)" in names(figure)
    resent = next(t for t in figure.data if t.name.startswith("timeout"))
    assert list(resent.text) == ["<s>R</s>", "<s>R</s>"]
    assert resent.customdata.tolist() == [
        r["packet"] for r in made.trace.table("segments").to_pylist() if r["trigger"] == "rto" and r["flow"] == 0
    ]
    assert len(figure.layout.shapes) == len([f for f in made.findings if f.flow == 0])


def test_a_long_flow_has_few_marks_and_all_retransmissions():
    made = synthetic.make(20_000)
    plot = registry.units("plots")["time_sequence"]
    whole, reduced = plot(made.trace), plot(made.trace, most_marks=1000)
    assert len(reduced.data[0].x) < len(whole.data[0].x) / 4
    counts = [{t.name: len(t.x) for t in f.data if t.mode == "markers+text"} for f in (whole, reduced)]
    assert counts[0] == counts[1]
    assert sum(counts[0].values()) > 50


def test_rtt_flight(made):
    figure = registry.units("plots")["rtt_flight"](made.trace, flow=1)
    assert names(figure) == ["RTT", "RTO", "bytes in flight", "receive window"]
    assert 0.02 < np.median(figure.data[0].y) < 0.03


def test_ledger_bar_sums_to_the_flows(made):
    figure = registry.units("plots")["ledger_bar"](made.trace)
    total = sum(sum(t.x) for t in figure.data)
    ledger = made.ledger.to_pylist()
    assert total == pytest.approx(sum(r["t_end_ns"] - r["t_start_ns"] for r in ledger) / 1e9)
    assert "RTO wait" in names(figure)


def test_texts_hold_no_tags(made):
    trace = Trace(
        [],
        {
            **{name: tables.empty(name) for name in tables.names()},
            **{name: made.trace.table(name) for name in ("segments", "ledger")},
        },
        endpoints={0: ("<b>x</b>", 1, "<a href='javascript:alert(1)'>", 2), 1: ("&lt;", 1, "\x1b[0m", 2)},
    )
    held = [name for name, plot in registry.units("plots").items() if set(plot.needs) <= {"segments", "ledger"}]
    assert {"time_sequence", "ledger_bar", "retransmission_pairs", "tcp_view"} <= set(held)
    drawn = 0
    for name in held:
        plot = registry.units("plots")[name]
        try:
            plot(trace, made.findings)
        except NothingToDraw:
            continue
        drawn += 1
        text = str(json.loads(plot(trace, made.findings).to_json()))
        assert "<b>" not in text, name
        assert "<a " not in text, name
    assert drawn >= 4


@pytest.mark.parametrize("name", sorted(registry.units("plots")))
def test_a_plot_of_empty_tables(name):
    plot = registry.units("plots")[name]
    empty = Trace([], {table: tables.empty(table) for table in tables.names()})
    if name not in DRAW_EMPTY_AXES:
        with pytest.raises(NothingToDraw) as error:
            plot(empty)
        assert error.value.what
        assert error.value.next
        return
    figure = plot(empty)
    assert not [drawn for drawn in figure.data if drawn.x is not None and len(drawn.x) and drawn.x[0] is not None]
