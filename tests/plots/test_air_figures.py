"""The figures of the air: traces of the figure object."""

from __future__ import annotations

import numpy as np
import pytest

from tests.airtime.made import AP, STATION, exchanges, frame, frames, many, trace_of
from wlanlens import registry, tables
from wlanlens.airtime import of_tables
from wlanlens.plots._airtime import shares_over_time
from wlanlens.trace import Trace

RATE, SHARE = (registry.units("plots")[name] for name in ("rate_over_time", "airtime_share"))
BARE = {name: tables.empty(name) for name in tables.names()}


def by_name(figure) -> dict[str, list[np.ndarray]]:
    """The marks of each trace, one row (x, low, high) per stroke."""
    out: dict[str, list[np.ndarray]] = {}
    for t in figure.data:
        x, y = np.asarray(t.x), np.asarray(t.y)
        out.setdefault(t.name, []).append(np.stack([x[0::3], y[0::3], y[1::3]], axis=1))
    return out


def test_every_rate_and_every_retry_is_drawn():
    marks = by_name(RATE(trace_of(frames(), exchanges())))
    assert list(marks) == [STATION, "retry (3)", "dropped (1)"]
    rates, signals = marks[STATION]
    assert [round(float(v)) for v in (rates[:, 1] + rates[:, 2]) / 2] == [54] * len(rates)
    assert np.allclose((signals[:, 1] + signals[:, 2]) / 2, -50)
    retries, _ = marks["retry (3)"]
    assert sorted(np.round((retries[:, 1] + retries[:, 2]) / 2)) == [12, 24, 54]
    assert marks["dropped (1)"][0][0, 0] == pytest.approx(0.007)


def test_damaged_frames_control_frames_and_beacons_are_not_drawn_with_data():
    marks = by_name(RATE(trace_of(frames(), exchanges())))
    times = {round(float(t) * 1000) for rows in marks.values() for t in rows[0][:, 0]}
    assert times == {2, 3, 4, 6, 7, 8, 9, 13}


def test_management_frames_are_drawn_if_there_is_no_data():
    rows = frames().slice(0, 1)
    assert list(by_name(RATE(trace_of(rows, tables.empty("exchanges"))))) == [AP]


def test_a_flow_or_a_station_can_be_chosen():
    trace = trace_of(frames(), exchanges())
    assert by_name(RATE(trace, flow=0)) == {}
    assert by_name(RATE(trace, station=AP)).keys() == {AP}


def test_many_frames_cost_few_marks_and_no_retry_is_lost():
    lot, none = many(300_000)
    figure = RATE(trace_of(lot, none, duration_ns=150 * 10**9))
    marks = by_name(figure)
    plain = sum(len(rows[0]) for name, rows in marks.items() if name.startswith("02:"))
    assert plain <= 4 * 2000 * 2
    retries = next(rows[0] for name, rows in marks.items() if name.startswith("retry"))
    assert len(retries) == 300_000 // 7
    # One path per trace: a browser keeps traces, not marks.
    assert len(figure.data) <= 12
    assert {t.mode for t in figure.data} == {"lines"}


def test_shares_sum_to_the_airtime():
    trace = trace_of(frames(), exchanges())
    figure = SHARE(trace)
    over_time = [t for t in figure.data if t.type == "scatter"]
    # All in the first slice of 2^24 ns.
    summed = sum(np.asarray(t.y) * 2**24 / 100 for t in over_time)
    known = [row for row in frames().to_pylist() if row["airtime_us"] is not None]
    assert summed.sum() == pytest.approx(1000 * sum(row["airtime_us"] for row in known))
    assert {t.name for t in over_time} == {"data", "retries", "control frames", "management", "damaged or unknown"}
    bars = [t for t in figure.data if t.type == "bar"]
    assert next(iter(bars[0].y)) == f"{AP} (access point of home)"
    assert sum(sum(t.x) for t in bars) == pytest.approx(summed.sum() / 1e9)


def test_a_short_last_slice_is_joined_to_the_one_before():
    slice_ns, late = 1 << 24, 3 * (1 << 24)
    rows = [frame(1, t_ns=0, airtime_us=slice_ns / 2000), frame(2, t_ns=late, airtime_us=500.0)]
    slices = of_tables(frames(rows), exchanges([])).tables("a.pcap")["airtime"]
    trace = Trace.of_tables({**BARE, "airtime": slices}, duration_ns=late + 500_000)
    start_s, shares = shares_over_time(trace, 1000)
    assert list(np.rint(start_s * 1e9).astype(int)) == [0, slice_ns, 2 * slice_ns]
    total = sum(shares.values())
    assert total[0] == pytest.approx(50)
    assert total[-1] == pytest.approx(100 * 500_000 / (slice_ns + 500_000))


def test_markup_in_a_network_name_is_escaped():
    figure = SHARE(trace_of(frames(), exchanges(), ssid="<b>x</b>\x1b[31m"))
    names = [name for t in figure.data if t.type == "bar" for name in t.y]
    assert names[0] == f"{AP} (access point of &lt;b&gt;x&lt;/b&gt;\\x1b[31m)"


@pytest.mark.parametrize("plot", [RATE, SHARE], ids=["rate", "share"])
def test_empty_in_empty_out(plot):
    assert len(plot(Trace.of_tables(BARE, duration_ns=0)).data) == 0
