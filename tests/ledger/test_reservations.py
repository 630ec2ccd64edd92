"""RTS frames without data behind them are attempts to send the data frame that follows."""

from __future__ import annotations

import pyarrow as pa

from wlanlens.ledger.reservations import first_attempts

#: Kind, transmitter and receiver of each frame; one a millisecond.
Row = tuple[str, str | None, str]


def attempts(rows: list[Row]) -> list[int]:
    kinds, ta, ra = (list(column) for column in zip(*rows, strict=True))
    frames = pa.table(
        {
            "t_ns": pa.array([n * 1_000_000 for n in range(len(rows))], pa.int64()),
            "type": pa.array(["data" if kind == "data" else "control" for kind in kinds]).dictionary_encode(),
            "subtype": pa.array(kinds).dictionary_encode(),
            "ta": pa.array(ta, pa.string()).dictionary_encode(),
            "ra": pa.array(ra, pa.string()).dictionary_encode(),
        }
    )
    return first_attempts(frames).tolist()


def test_the_first_rts_since_the_data_frame_before() -> None:
    rows: list[Row] = [
        ("rts", "x", "y"),
        ("cts", None, "x"),
        ("data", "x", "y"),
        ("ack", None, "x"),
        ("rts", "x", "y"),
        ("rts", "y", "x"),
        ("data", "y", "x"),
        ("rts", "x", "y"),
        ("data", "x", "y"),
        # A retransmission without RTS, and a frame behind an RTS to another station.
        ("data", "x", "y"),
        ("rts", "x", "z"),
        ("data", "x", "y"),
    ]
    found = attempts(rows)
    assert [(i, first) for i, first in enumerate(found) if first >= 0] == [(2, 0), (6, 5), (8, 4)]


def test_without_rts_there_is_none() -> None:
    assert attempts([("data", "x", "y"), ("data", "y", "x")]) == [-1, -1]
