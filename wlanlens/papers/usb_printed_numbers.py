from __future__ import annotations

from wlanlens.models.usb_bus import UsbBus
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

_MSS_BITS = 8 * 1448
#: IEEE 802.11b with long preambles, us; a header and FCS of 28 bytes, LLC and SNAP of 8.
_DIFS, _SIFS, _SLOT, _LONG, _SHORT = 50.0, 10.0, 20.0, 192.0, 96.0
_FRAME_BYTES, _ACK_BITS = 36, 112
#: Gaps before a fast retransmission: attempts at each rate, and their length, ms.
_GAPS = (
    ((11.0,) * 3 + (5.5,) * 5, 60),
    ((11.0,) * 3 + (5.5,) * 3 + (1.0,) * 2, 80),
    ((11.0,) * 3 + (5.5,) * 7, 86),
    ((11.0,) * 3 + (5.5,) * 3 + (2.0,) * 2 + (1.0,) * 2, 114),
)


def _exchange_us(ip_bytes: int, plcp_us: float = _LONG) -> float:
    """A data frame at 11 Mb/s and its ACK at 2 Mb/s, without backoff."""
    return _DIFS + plcp_us + 8 * (_FRAME_BYTES + ip_bytes) / 11 + _SIFS + plcp_us + _ACK_BITS / 2


def _two_segments_us(plcp_us: float = _LONG) -> float:
    """Two segments and a TCP ACK, with a backoff alone and the greater of two."""
    backoff = 31 / 2 * _SLOT + 31 * 129 / 192 * _SLOT
    return 2 * _exchange_us(1500, plcp_us) + _exchange_us(52, plcp_us) + backoff


def _gap_ms(rates: tuple[float, ...]) -> tuple[float, float]:
    """Time of failed attempts at these rates, and the backoff in it; the ACK is awaited at 1 Mb/s."""
    backoff = sum(min(2**k * 32, 1024) - 1 for k in range(len(rates))) / 2 * _SLOT
    air = sum(_DIFS + _LONG + 8 * (_FRAME_BYTES + 1500) / rate + _SIFS + _LONG + _ACK_BITS for rate in rates)
    return (backoff + air) / 1e3, backoff / 1e3


@experiment("usb_printed_numbers", study="usb_adapter", source="sections 4.1.1, 4.1.2, 4.3.1 and 4.3.2: arithmetic")
def usb_printed_numbers(lab: Lab) -> Result:  # noqa: ARG001  arithmetic, no simulation
    """What follows from the study's numbers and from the standard without a simulation.

    The time of two segments on the air gives its throughput; ten failed attempts give its gap of about 100 ms.
    """
    bus = UsbBus()
    full_ms = bus.transactions() / 19
    gaps = [(rates, ms, *_gap_ms(rates)) for rates, ms in _GAPS]
    cycle_s = 10 * _MSS_BITS / 0.29e6
    packet_s = _MSS_BITS / 0.816e6
    rows = (
        _exact("two segments and a TCP ACK on the air (ms)", "5.16 Mb/s", 4.52, 0.01, _two_segments_us() / 1e3,
               "long preambles, MAC ACKs at 2 Mb/s, two backoffs"),
        _exact("the same as throughput (Mb/s)", "5.16", 5.12, 0.01, 2 * _MSS_BITS / _two_segments_us(), "23 168 bits"),
        Row("the same with short preambles (Mb/s)", "5.16 shows long preambles", "S", 2 * _MSS_BITS / _two_segments_us(_SHORT),
            holds=2 * _MSS_BITS / _two_segments_us(_SHORT) > 5.3, because="96 us less for each of six frames"),
        _exact("25 transactions at 19 a frame (ms)", "not printed", 1.32, 0.005, full_ms, "FSBR on: no turnaround"),
        _exact("the bus alone then (Mb/s)", "not printed", 8.8, 0.05, _MSS_BITS / full_ms / 1e3, "above what the air carries"),
        *(_exact(f"a segment in {frames} ms (Mb/s)", printed, value, 0.0005, _MSS_BITS / frames / 1e3, because)
          for frames, printed, value, because in (
              (26.5, "0.44", 0.437, "breadth first, queueless: two turnarounds for every other segment"),
              (26, "0.44", 0.4455, "breadth first, queueless: 25 transactions and a turnaround"),
              (25, "0.46", 0.463, "breadth first, queued: 25 transactions"),
              (4, "2.89", 2.896, "depth first, queueless: eight frames for two segments and an ACK"),
              (3, "3.84", 3.861, "depth first, queued: six frames"),
          )),
        *(_exact(f"gap of attempts at {_named(rates)} Mb/s (ms)", "about 100", ms, 0.6, total, "the backoff grows to 1023 slots")
          for rates, ms, total, _ in gaps),
        Row("share of backoff in these gaps (%)", "not printed", "S", ", ".join(f"{100 * b / t:.0f}" for _, _, t, b in gaps),
            holds=all(b > t / 2 for _, _, t, b in gaps), because="most of the gap is no transmission"),
        _exact("ten packets at 0.29 Mb/s (s)", "0.29", 0.40, 0.005, cycle_s, "every tenth packet is retransmitted"),
        _exact("of these, nine at 1 Mb/s (s)", "not printed", 9 * 0.0142, 0.001, 9 * packet_s, "0.816 Mb/s on a clean link"),
        _exact("idle time left beside a gap of 100 ms (s)", "not printed", 0.17, 0.01, cycle_s - 9 * packet_s - 0.1,
               "one or two stalls for the delayed ACK, or a timeout"),
        Row("MAC retransmissions of TCP, section 4.3.1 and conclusions (%)", "4.58 to 4.73", "N", "1.3 to 2.3",
            because="the study contradicts itself; ns-2 has 3.96 % from collisions alone", origin="by hand"),
        Row("MAC retransmissions of other cards (%)", "1.75 to 7.2", "N", "not modelled", because="their windows and rates are not stated",
            origin="by hand"),
        Row("order of transfers and idle frames on the bus", "DATA DATA IDLE DATA DATA ACK IDLE", "N", "not identifiable",
            because="several orders have the same ms a segment; that is asserted (usb_host_modes)", origin="by hand"),
    )  # fmt: skip
    return Result(rows)


def _named(rates: tuple[float, ...]) -> str:
    return " + ".join(f"{rates.count(rate)} x {rate:g}" for rate in sorted(set(rates), reverse=True))


def _exact(what: str, printed: str, value: float, half_unit: float, measured: float, because: str) -> Row:
    return Row(what, printed, "E", measured, (value - half_unit, value + half_unit), because=because)
