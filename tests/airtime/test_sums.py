"""What the air was used for: every frame's airtime has one purpose, in whatever batches the frames arrive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.airtime.made import AP, EXCHANGES, FRAMES, MS, NAME, STATION, exchange, exchanges, frame, frames, many, retry
from tests.rows import table
from wlanlens import _core, airtime, tables
from wlanlens.airtime import accumulator, words


def purposes(sums: airtime.Air) -> dict[str, int]:
    """Frames by purpose."""
    return sums.summary(20 * MS).purpose_frames


def test_every_frame_has_one_purpose() -> None:
    summary = airtime.of_tables(frames(), exchanges()).summary(20 * MS)
    assert summary.purpose_frames == {
        "delivered": 1,
        "unproven": 2,
        "group": 1,
        "retry": 5,
        "acknowledgement": 1,
        "control": 1,
        "beacon": 1,
        "damaged": 1,
    }
    assert sum(summary.purpose_frames.values()) == summary.frames == len(FRAMES)
    known = [round(row["airtime_us"] * 1000) for row in FRAMES if row["airtime_us"] is not None]
    assert summary.airtime_ns == sum(summary.purpose_ns.values()) == sum(known)
    assert (summary.no_airtime, summary.damaged, summary.data_frames, summary.stations) == (1, 1, 9, 2)


def test_the_transmission_that_arrived_is_data_and_earlier_ones_are_retries() -> None:
    rows = [frame(1), retry(2), retry(3)]
    assert purposes(airtime.of_tables(frames(rows), exchanges([exchange([1, 2, 3])]))) == {"delivered": 1, "retry": 2}
    assert purposes(airtime.of_tables(frames(rows), exchanges([exchange([1, 2, 3], "dropped")]))) == {"retry": 3}
    assert purposes(airtime.of_tables(frames(rows), exchanges([exchange([1, 2, 3], "unknown")]))) == {
        "unproven": 1,
        "retry": 2,
    }
    assert purposes(airtime.of_tables(frames(rows), exchanges([]))) == {"unproven": 1, "retry": 2}


@given(st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_batches_of_any_size_sum_to_the_same(size: int, late: int, exchanges_first: bool) -> None:
    whole = airtime.of_tables(frames(), exchanges())
    sums = airtime.Air()
    batches = frames().to_batches(max_chunksize=size)
    answers = exchanges().to_batches(max_chunksize=late)
    for name, some in (("exchanges", answers), ("frames", batches))[:: 1 if exchanges_first else -1]:
        for batch in some:
            sums.add(name, batch)
    sums.finish()
    assert sums.summary(MS) == whole.summary(MS)
    assert {n: t.to_pylist() for n, t in sums.tables(NAME).items()} == {
        n: t.to_pylist() for n, t in whole.tables(NAME).items()
    }


def test_the_retry_bit_decides_about_frames_that_wait_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulator, "PENDING", 10)
    rows = [frame(i, retry=i % 2 == 0) for i in range(1, 101)]
    sums = airtime.Air()
    for batch in frames(rows).to_batches(max_chunksize=4):
        sums.add("frames", batch)
    assert sums.waiting <= 14
    sums.add("exchanges", exchanges([exchange([100])]).to_batches()[0])
    sums.finish()
    assert purposes(sums) == {"delivered": 1, "unproven": 50, "retry": 49}


def test_a_station_has_its_signal_rates_and_network() -> None:
    rows = airtime.of_tables(frames(), exchanges()).tables(NAME)["stations"].to_pylist()
    by_name = {row["station"]: row for row in rows}
    assert by_name[AP]["role"] == "access_point"
    assert by_name[AP]["bssid"] == AP
    one = by_name[STATION]
    assert (one["role"], one["signal_median_dbm"], one["signal_least_dbm"]) == ("station", -50, -50)
    assert one["rates_mbps"] == [54.0, 24.0, 12.0]
    assert one["rate_frames"] == [7, 1, 1]
    assert (one["exchanges"], one["attempts"], one["delivered"], one["dropped"], one["unknown"]) == (3, 6, 1, 1, 1)
    assert one["retries_ns"] == 500_000
    # ACKs have no transmitter address, and the addresses of a damaged frame may be wrong.
    assert (by_name[None]["role"], by_name[None]["frames"]) == ("unnamed", 2)
    assert sum(row["airtime_ns"] for row in rows) == sum(
        row["data_ns"] + row["retries_ns"] + row["control_ns"] + row["management_ns"] + row["other_ns"] for row in rows
    )


def test_many_stations_are_merged_and_the_busy_one_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulator, "STATIONS", 8)
    rows = [frame(i, ta=STATION if i % 3 == 0 else f"06:00:00:00:{i >> 8:02x}:{i & 255:02x}") for i in range(1, 401)]
    sums = airtime.Air()
    for batch in frames(rows).to_batches(max_chunksize=50):
        sums.add("frames", batch)
    sums.finish()
    found = sums.tables(NAME)["stations"]
    by_name = {row["station"]: row for row in found.to_pylist()}
    assert found.num_rows < 90
    assert by_name[STATION]["frames"] == 133
    assert sum(row["frames"] for row in by_name.values()) == 400
    assert sums.summary(MS).airtime_ns == 400 * 100_000
    assert {row["role"] for row in by_name.values()} == {"station", "rest"}


def test_slices_widen_and_lose_nothing() -> None:
    times = [0, 5 * MS, 10**9, 10**11, 10**15]
    rows = [frame(i + 1, t_ns=t) for i, t in enumerate(times)] + [frame(9, t_ns=None), frame(10, t_ns=-5)]
    table = airtime.of_tables(frames(rows), exchanges([])).tables(NAME)["airtime"]
    assert table.num_rows <= 1024
    assert sum(table["airtime_ns"].to_pylist()) == len(times) * 100_000
    assert max(table["t_end_ns"].to_pylist()) >= 10**15
    widths = {b - a for a, b in zip(table["t_start_ns"].to_pylist(), table["t_end_ns"].to_pylist(), strict=True)}
    assert len(widths) == 1


def test_no_slice_of_one_channel_holds_more_than_its_own_time() -> None:
    # Frames of 12 ms back to back, in slices of 17 ms.
    rows = [frame(i + 1, t_ns=12 * i * MS, airtime_us=12_000.0) for i in range(50)]
    table = airtime.of_tables(frames(rows), exchanges([])).tables(NAME)["airtime"].to_pylist()
    assert all(row["airtime_ns"] <= row["t_end_ns"] - row["t_start_ns"] for row in table)
    assert sum(row["airtime_ns"] for row in table) == 600 * MS
    assert sum(row["frames"] for row in table) == 50


def test_hostile_numbers_do_not_stop_the_sums() -> None:
    most = 2**63 - 1
    rows = [frame(1, t_ns=most), frame(2, t_ns=-most), frame(3, airtime_us=float("nan")), frame(4, airtime_us=1e300)]
    rows += [frame(5, signal_dbm=127), frame(6, signal_dbm=-128), frame(7, rate_mbps=float("nan"))]
    rows += [frame(8, type=None, subtype=None, ta=None, ra=None, fcs_ok=None)]
    sums = airtime.of_tables(frames(rows), exchanges([exchange([99]), {**exchange([1], "dropped"), "packets": []}]))
    assert sums.summary(most).frames == 8
    assert sums.tables(NAME)["stations"].num_rows == 2


def test_retransmissions_count_by_the_outcome_of_the_earlier_copy() -> None:
    def segment(packet: int, seq: int, again: str = "first") -> dict[str, object]:
        return {"packet": packet, "flow": 1, "rel_seq": seq, "len": 100, "transmission": again}

    rows = [
        *(segment(packet, seq) for packet, seq in ((1, 1), (2, 101), (3, 201))),
        segment(4, 1, "mac_copy"),
        *(segment(packet, seq, "retransmission") for packet, seq in ((5, 1), (6, 101), (7, 201), (8, 301))),
    ]
    lives = [exchange([1, 4], "dropped", flow=1), exchange([2], flow=1), exchange([3], "unknown", flow=1)]
    sums = airtime.of_tables(frames([]), exchanges(lives), table("segments", rows))
    assert sums.summary(MS).tcp == {"delivered": 1, "dropped": 1, "unknown": 1, "unseen": 1}
    assert words.retransmissions(sums.summary(MS)) == (
        "TCP retransmitted 4 segments; of the earlier copies 1 was lost on the air, 1 was delivered on the air, 1 has an "
        "unknown outcome and 1 was missed by the sniffer."
    )
    assert sums.summary(MS).flows == [[1, "a2b", 400_000, 300_000, 3, 4, 1]]


def test_no_frames_no_sums() -> None:
    sums = airtime.of_tables(tables.empty("frames"), tables.empty("exchanges"), tables.empty("segments"))
    assert sums.summary(0) == airtime.Summary(tcp=dict.fromkeys(("delivered", "dropped", "unknown", "unseen"), 0))
    assert all(table.num_rows == 0 for table in sums.tables(NAME).values())
    for name, found in sums.tables(NAME).items():
        tables.validate(found, name)


@pytest.mark.parametrize(
    "change",
    [
        {"frames": "1"},
        {"purpose_ns": {"mischief": 1}},
        {"flows": [[1, "a2b"]]},
        {"flows": [[1, "up", 1, 1, 1, 1, 1]]},
        {"channels_mhz": [None]},
    ],
)
def test_a_malformed_summary_is_refused(change: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        airtime.Summary(**change)  # type: ignore[arg-type]


def test_a_million_frames_take_a_moment_and_little_memory() -> None:
    lot, _ = many(200_000)
    sums = airtime.Air()
    for batch in lot.to_batches(max_chunksize=16_384):
        sums.add("frames", batch)
        assert sums.waiting <= accumulator.PENDING + 16_384
    sums.finish()
    assert purposes(sums) == {"unproven": 200_000 - 200_000 // 7, "retry": 200_000 // 7}


def test_waiting_frames_follow_their_station_to_its_new_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulator, "STATIONS", 1)
    sums = airtime.Air()
    others = [frame(i, ta=f"06:00:00:00:00:{i:02x}", type="control", subtype="ack") for i in (1, 2, 3)]
    last = [frame(i, ta=STATION) for i in (4, 5)]
    for rows in ([*others, *last], [frame(6, ta=AP, type="control", subtype="ack")]):
        sums.add("frames", frames(rows).to_batches()[0])
    sums.finish()
    by_name = {row["station"]: row for row in sums.tables(NAME)["stations"].to_pylist()}
    assert by_name[STATION]["data_ns"] == 200_000
    assert by_name[None]["frames"] == 3


def test_the_core_names_purposes_as_the_tables_do() -> None:
    assert tuple(_core.AirSums.purposes()) == tables.PURPOSES


def test_a_batch_without_its_columns_is_refused() -> None:
    batch = frames().to_batches()[0]
    with pytest.raises(ValueError, match="column retry is missing"):
        airtime.Air().add("frames", batch.select([name for name in batch.schema.names if name != "retry"]))
    with pytest.raises(ValueError, match="column ta is missing"):
        airtime.Air().add("exchanges", exchanges(EXCHANGES).to_batches()[0].select(["packets"]))
