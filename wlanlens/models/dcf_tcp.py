from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from wlanlens.reproduction.model import model


class Backlog(NamedTuple):
    """Solution of equations 15 and 16 (or 19)."""

    collision_probability: float
    backoff_slots: float


@model("dcf_tcp")
@dataclass(frozen=True, kw_only=True)
class DcfTcp:
    """TCP throughput and session delay over the 802.11 DCF, after Miorandi and Altman (INRIA RR-4908, 2003).

    Methods are the report's equations, by number. The lengths of RTS and MAC framing are those that its printed times
    require, which are also the real ones: 20 and 28 bytes. The report states 180 and 272 bits, which do not give its times;
    `DcfTcp(rts_bits=180, mac_bits=272)` is the report as stated.
    """

    slot_s: float = 20e-6
    sifs_s: float = 10e-6
    difs_s: float = 50e-6
    preamble_s: float = 144e-6
    phy_header_s: float = 48e-6
    #: Sizes of the contention window: 32 means counters from 0 to 31.
    cw_min: int = 32
    cw_max: int = 1024
    #: Most transmissions of a frame.
    attempts: int = 7
    data_bps: float = 11e6
    control_bps: float = 2e6
    tcp_bits: int = 8000
    ip_header_bits: int = 320
    rts_bits: int = 160
    cts_bits: int = 112
    ack_bits: int = 112
    mac_bits: int = 224

    @property
    def stages(self) -> int:
        """m': number of doublings of the contention window."""
        return round(math.log2(self.cw_max / self.cw_min))

    def _plcp(self) -> float:
        return self.preamble_s + self.phy_header_s

    def _reserved(self, payload_bits: float) -> float:
        """DIFS, RTS, CTS, data and ACK with the spaces between them."""
        control = (self.rts_bits + self.cts_bits + self.ack_bits) / self.control_bps
        return (
            self.difs_s + 3 * self.sifs_s + 4 * self._plcp() + control + (self.mac_bits + payload_bits) / self.data_bps
        )

    def data_s(self) -> float:
        """Equations 1 and 3: a TCP segment on the air without backoff, RTS to ACK, s."""
        return self._reserved(self.ip_header_bits + self.tcp_bits)

    def ack_s(self) -> float:
        """Equations 2 and 4: a TCP ACK on the air without backoff, s."""
        return self._reserved(self.ip_header_bits)

    def backoff_s(self) -> float:
        """Equation 5: the mean backoff of a station alone, t_b, s."""
        return self.slot_s * (self.cw_min - 1) / 2

    def longer_backoff_probability(self, slots: int = 31, cw: int = 32) -> float:
        """Equation 6: the probability that the greater of two counters 0 to cw-1 is `slots`."""
        return ((slots + 1) ** 2 - slots**2) / (cw * cw)

    def longer_backoff_slots(self, cw: int = 32) -> float:
        """The mean of equation 6, by summation, slots."""
        return sum(k * self.longer_backoff_probability(k, cw) for k in range(cw))

    def contended_backoff_s(self, cw: float = 32) -> float:
        """Equation 7: the same in closed form, for any real window: both stations' backoffs, s."""
        return self.slot_s * (cw - 1) * (4 * cw + 1) / (6 * cw)

    def tie_probability(self, cw: int = 32) -> float:
        """Equation 8: the probability that two stations draw the same counter, P_C."""
        return 1 / cw

    def collision_s(self, backoff_slots: float = 15.5) -> float:
        """Equation 9: the time lost in a collision of two RTS, including the mean backoff slot, s."""
        rts = self._plcp() + self.rts_bits / self.control_bps
        return self.difs_s + self.slot_s * backoff_slots + rts + self.sifs_s

    def exchange_backoff_s(self) -> float:
        """Equation 10: the backoff of a segment and its ACK, which both contend, tau_b, s."""
        tie = self.tie_probability(self.cw_min)
        again = self.collision_s((self.cw_min - 1) / 2) + self.contended_backoff_s(2 * self.cw_min)
        return (1 - tie) * self.contended_backoff_s(self.cw_min) + tie * again

    def throughput_mbps(self) -> float:
        """Equation 11: TCP with an ACK for every segment and a wide window, Mb/s."""
        return self._mbps(self.data_s() + self.ack_s() + self.exchange_backoff_s())

    def ceiling_mbps(self) -> float:
        """Equation 12: TCP without ACKs, Mb/s."""
        return self._mbps(self.data_s() + self.backoff_s())

    def wide_window_mbps(self, d: int = 2) -> float:
        """Equation 13: an ACK every d segments, window much greater than d, Mb/s."""
        contended = (self.ack_s() + self.exchange_backoff_s()) / d
        return self._mbps(self.data_s() + (d - 1) / d * self.backoff_s() + contended)

    def narrow_window_mbps(self, d: int = 2) -> float:
        """Equation 14: an ACK every d segments, window of d segments, so there is no contention, Mb/s."""
        return self._mbps(self.data_s() + self.backoff_s() + (self.ack_s() + self.backoff_s()) / d)

    # ---- several stations

    def backlogged_slots(self, collision_probability: float = 1 / 32) -> float:
        """Equation 15, closed form: the mean counter of a backlogged station, t_b, slots."""
        p, stages, attempts = collision_probability, self.stages, self.attempts
        if abs(2 * p - 1) < 1e-12:
            growing = float(stages)
        else:
            growing = (1 - math.pow(2 * p, stages)) / (1 - 2 * p)
        full = (2.0**stages * self.cw_min - 1) / 2 * (math.pow(p, stages) - math.pow(p, attempts))
        return (1 - p) / 2 * self.cw_min * growing - (1 - math.pow(p, stages)) / 2 + full

    def backlogged_slots_summed(self, collision_probability: float = 1 / 32) -> float:
        """Equation 15, as the sum that it is derived from, slots."""
        p = collision_probability
        windows = (self.cw_min * math.pow(2, min(k, self.stages)) for k in range(self.attempts))
        return sum(math.pow(p, k) * (1 - p) * (w - 1) / 2 for k, w in enumerate(windows))

    def collision_probability(self, backoff_slots: float = 15.5, others: float = 1.0) -> float:
        """Equations 16 (others = n - 1) and 19 (others = (n - 1) / d): the probability that a frame collides, P_C."""
        return 1 - math.pow(1 - 1 / backoff_slots, others)

    def backlog(self, n: int = 15, d: int = 1) -> Backlog:
        """Equations 15 and 16 (19 for d > 1) together, for n backlogged stations: (P_C, t_b in slots)."""
        others = (n - 1) / d
        # Equation 16 falls as P_C rises, so there is one solution.
        low, high = 0.0, 1.0 - 1e-12
        for _ in range(200):
            middle = (low + high) / 2
            if self.collision_probability(self.backlogged_slots(middle), others) > middle:
                low = middle
            else:
                high = middle
        return Backlog(low, self.backlogged_slots(low))

    def drop_probability(self, n: int = 15) -> float:
        """After equation 16: the probability that a frame of n backlogged stations is dropped."""
        return self.backlog(n).collision_probability ** self.attempts

    def equivalent_window(self, n: int = 15) -> float:
        """Equation 17: the contention window with which two stations wait as long as n stations do, slots."""
        return 2 * self.backlog(n).backoff_slots + 1

    def split_access_point_mbps(self, n: int = 10) -> float:
        """Equation 18, times n - 1: all downlink flows together, as if the access point was n - 1 stations, Mb/s.

        It is one station with one queue: simulations are flat where this falls (docs/method.md).
        """
        slots = self.backlog(n).backoff_slots
        cw = self.equivalent_window(n)
        backoff = self.contended_backoff_s(cw) + self.collision_s(slots) / cw
        return self._mbps(self.data_s() + self.ack_s() + backoff)

    def split_access_point_delayed_mbps(self, n: int = 10, d: int = 2) -> float:
        """Equation 20, times n - 1: the same with an ACK every d segments, Mb/s."""
        slots = self.backlog(n, d).backoff_slots
        cw = 2 * slots
        contended = self.ack_s() + self.contended_backoff_s(cw) + self.collision_s(slots) / cw
        return self._mbps(self.data_s() + contended / d + (d - 1) / d * slots * self.slot_s)

    def stop_and_wait_mbps(self) -> float:
        """Equation 21, times n - 1: all downlink flows together with a window of one segment each, Mb/s."""
        return self._mbps(self.data_s() + self.ack_s() + self.slot_s * (self.cw_min - 1))

    def saturated_mbps(self, n: int = 10, payload_bytes: int = 1000, reserved: bool = True) -> float:
        """Equations 15 and 16 as Bianchi uses them: total throughput of n saturated stations that send datagrams, Mb/s.

        A station transmits in a slot with probability 1 / (t_b + 1): the slots of its counter and the one in which it transmits.
        UDP and IP add 28 bytes; `reserved`: with RTS and CTS. After a collision all stations wait for EIFS, as long as
        for a response.
        """
        bits = 8 * (payload_bytes + 28)
        chance = self.attempt_probability(n)
        nobody = (1 - chance) ** n
        one = n * chance * (1 - chance) ** (n - 1)
        answer = self.sifs_s + self._plcp() + self.ack_bits / self.control_bps
        if reserved:
            good = self._reserved(bits)
            lost = self._plcp() + self.rts_bits / self.control_bps
        else:
            lost = self._plcp() + (self.mac_bits + bits) / self.data_bps
            good = self.difs_s + lost + answer
        bad = self.difs_s + lost + self._eifs_s()
        mean = nobody * self.slot_s + one * good + (1 - nobody - one) * bad
        return one * 8 * payload_bytes / mean / 1e6

    def attempt_probability(self, n: int = 10) -> float:
        """Bianchi's tau for n saturated stations: 1 / (t_b + 1), with P_C = 1 - (1 - tau)^(n - 1)."""
        low, high = 0.0, 1.0 - 1e-12
        for _ in range(200):
            middle = (low + high) / 2
            tau = 1 / (self.backlogged_slots(middle) + 1)
            if 1 - (1 - tau) ** (n - 1) > middle:
                low = middle
            else:
                high = middle
        return 1 / (self.backlogged_slots(low) + 1)

    def _eifs_s(self) -> float:
        """EIFS minus DIFS: SIFS and an ACK at 1 Mb/s (802.11-1999 clause 9.2.10)."""
        return self.sifs_s + self._plcp() + self.ack_bits / 1e6

    # ---- short transfers

    def setup_s(self, reserved: bool = False, mac: bool = False) -> float:
        """Equation 22: SYN and SYN-ACK, s. As printed it omits RTS, CTS and the MAC header."""
        if reserved:
            one = self.ack_s() + self.backoff_s()
        else:
            bits = self.ip_header_bits + (self.mac_bits if mac else 0)
            answer = self.sifs_s + self._plcp() + self.ack_bits / self.control_bps
            one = self.difs_s + self._plcp() + self.backoff_s() + bits / self.data_bps + answer
        return 2 * one

    def session_s(self, size_bits: int = 240_000, reserved: bool = False) -> float:
        """Equation 23: transfer time of a file with a window of one segment, s; `reserved`: set-up with RTS and CTS."""
        packets, rest = divmod(size_bits, self.tcp_bits)
        cycle = self.data_s() + self.ack_s() + (self.cw_min - 1) * self.slot_s
        shorter = (self.tcp_bits - rest) / self.data_bps if rest else 0.0
        return self.setup_s(reserved) + (packets + bool(rest)) * cycle - shorter

    def mean_session_s(self, d: int = 1, wide: bool = True, timer_s: float = 0.04) -> float:
        """Equation 23's mean over Pareto files of 30 kB (shape 1.5) in whole segments, set-up with RTS and CTS, s.

        With an ACK every d segments the last ACK waits for the timer unless d divides the number of segments. Derived from
        equations 13, 14 and 23: the report shows figures for d > 1 and no formula.
        """
        mbps = self.wide_window_mbps(d) if wide else self.narrow_window_mbps(d)
        cycle = self.tcp_bits / mbps / 1e6
        return self.setup_s(reserved=True) + mean_packets() * cycle + timer_s * left_over(d)

    def _mbps(self, per_segment_s: float) -> float:
        return self.tcp_bits / per_segment_s / 1e6


def mean_packets(least: int = 10, shape: float = 1.5) -> float:
    """Mean number of segments of a Pareto file of at least `least` segments: the sum of P(more than k)."""
    last = 100_000
    head = sum(math.pow(least / k, shape) for k in range(least, last))
    # Euler-Maclaurin formula for the remainder.
    tail = last * math.pow(least / last, shape) / (shape - 1) + 0.5 * math.pow(least / last, shape)
    return least + head + tail


def left_over(d: int, least: int = 10, shape: float = 1.5) -> float:
    """The probability that d does not divide the number of segments of such a file."""
    first = least // d + 1
    whole = (
        math.pow(least / max(least, j * d - 1), shape) - math.pow(least / (j * d), shape)
        for j in range(first, 200_000 // d)
    )
    return 1 - sum(whole)
