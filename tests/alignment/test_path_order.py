"""The order of capture points: along packets' paths, as clock references, and as sources of evidence."""

from __future__ import annotations

import numpy as np
import pytest

from wlanlens.alignment.path_order import PathOrder
from wlanlens.tables import POINTS

STATION_SENDS = ("sender", "usb", "air", "ap", "receiver")
STATION_RECEIVES = ("sender", "ap", "air", "usb", "receiver")
MS = 1_000_000


def order_of(points: tuple[str, ...], path: tuple[str, ...], *, jitter_ns: int = 0) -> PathOrder:
    """The order from 20 packets each way between two hosts, whose data passes the points as in `path`."""
    rng = np.random.default_rng(1)
    place = np.array([path.index(point) if point in path else 0 for point in points])
    forward = np.arange(20)[:, None] * 10 * MS + place * MS
    back = np.arange(20)[:, None] * 10 * MS + (len(path) - place) * MS
    t_ns = np.concatenate((forward, back)) + rng.integers(-jitter_ns, jitter_ns + 1, (40, len(points)))
    hosts = np.repeat([[0, 1], [1, 0]], 20, axis=1)
    return PathOrder(points, hosts, t_ns, np.ones(t_ns.shape, bool))


@pytest.mark.parametrize("path", [STATION_SENDS, STATION_RECEIVES], ids=["station sends", "station receives"])
def test_all_points_are_in_the_order_of_the_path(path: tuple[str, ...]) -> None:
    order = order_of(POINTS, path)
    one, other = order.path[0], order.path[-1]
    assert one != other
    rank = order.rank()
    assert [POINTS[k] for k in np.argsort(rank[one])] == list(path)
    assert [POINTS[k] for k in np.argsort(rank[other])] == list(path[::-1])
    assert (order.upstream[one] == order.upstream[other].T).all()


def test_neighbouring_points_within_the_clock_error_keep_their_order() -> None:
    order = order_of(STATION_SENDS, STATION_SENDS, jitter_ns=3 * MS)
    assert np.argsort(order.rank()[order.path[0]]).tolist() == [0, 1, 2, 3, 4]


def test_two_sniffers_are_at_the_same_place() -> None:
    order = order_of(("sender", "air", "air"), STATION_SENDS)
    assert not order.upstream[:, 1, 2].any()
    assert not order.upstream[:, 2, 1].any()
    assert order.upstream[order.path[0], 0].tolist() == [False, True, True]


def test_a_capture_at_an_unknown_point_is_placed_by_its_times() -> None:
    points = ("sender", "unknown", "receiver")
    t_ns = np.arange(10)[:, None] * 10 * MS + np.array([0, 1, 2]) * MS
    order = PathOrder(points, np.tile([[0], [1]], 10), t_ns, np.ones(t_ns.shape, bool))
    assert order.rank()[0].tolist() == [0, 1, 2]


def test_points_without_a_common_packet_have_no_order() -> None:
    seen = np.array([[True, False], [False, True]])
    order = PathOrder(("sender", "receiver"), np.array([[0, 0], [1, 1]]), np.zeros((2, 2), np.int64), seen)
    assert not order.upstream.any()


def test_static_orders() -> None:
    assert PathOrder.first_of("sender", "air") == 1
    assert PathOrder.first_of("receiver", "air") == -1
    assert PathOrder.first_of("air", "air") == PathOrder.first_of("unknown", "air") == 0
    assert sorted(PathOrder.CLOCK_REFERENCES) == sorted((*POINTS, "unknown"))
    ranks = [PathOrder.evidence_rank(point, "unknown") for point in ("sender", "usb", "unknown", "air", "receiver")]
    assert ranks == sorted(ranks)
    assert PathOrder.evidence_rank("unknown", "near_sender") == 0
    # The other host sends: its own capture shows its decisions.
    assert PathOrder.evidence_rank("receiver", "near_sender") == 0
    assert PathOrder.evidence_rank("sender", "near_receiver") == ranks[-1]
    assert PathOrder.hosts_outside(["air", "sender", "receiver"]) == ["sender", "air", "receiver"]
    assert PathOrder.hosts_outside(["air", "sender"]) == ["air", "sender"]
