from __future__ import annotations

from dataclasses import dataclass, replace

from wlanlens.reproduction.model import model

#: Estimators that are known.
FLAVOURS = ("rfc6298", "linux22", "linux24")


@model("rto")
@dataclass(frozen=True, kw_only=True)
class Rto:
    """The retransmission timeout of a TCP sender: RFC 6298's, Linux 2.2's and Linux 2.4's, with their doublings.

    Times in seconds. `deviation_s` is RFC 6298's RTTVAR, Linux's mdev; `bound_s` is Linux 2.4's rttvar, four times the
    greatest deviation of late. `cwnd_segments` matters to Linux 2.2 only, whose equation is the idle-time study's (1).
    `backoff` counts doublings in force. Sources: RFC 6298 section 2; Linux 2.2 `tcp_set_rto` and `tcp_rtt_estimator`;
    Linux 2.4 `tcp_rtt_estimator`.
    """

    flavour: str = "rfc6298"
    srtt_s: float | None = None
    deviation_s: float = 0.0
    bound_s: float = 0.0
    cwnd_segments: int = 1
    backoff: int = 0
    #: Least timeout: RFC 6298's second, Linux's 200 ms.
    least_s: float = 0.2
    most_s: float = 120.0
    initial_s: float = 1.0
    granularity_s: float = 0.01

    def __post_init__(self) -> None:
        if self.flavour not in FLAVOURS:
            raise ValueError(f"no timer is called {self.flavour!r}; there are {', '.join(FLAVOURS)}")

    def formula_s(self) -> float:
        """The timeout that the estimates give, doubled as often as is in force, without floor or ceiling."""
        if self.srtt_s is None:
            return self.initial_s * 2.0**self.backoff
        if self.flavour == "linux22":
            # The kernel's shift by the window was unguarded; 2^-(cwnd-1) is its meaning.
            fresh = (self.srtt_s + 4 * self.deviation_s) * (1.25 + 2.0 ** -(self.cwnd_segments - 1))
        elif self.flavour == "linux24":
            fresh = self.srtt_s + max(self.bound_s, self.least_s)
        else:
            fresh = self.srtt_s + max(self.granularity_s, 4 * self.deviation_s)
        return fresh * 2.0**self.backoff

    def timeout_s(self) -> float:
        """What the timer is set to: no less than the floor, no more than the ceiling.

        The floor is that of the timeout before it is doubled, as a running timer doubles from there.
        """
        doublings = 2.0**self.backoff
        if self.srtt_s is None or self.flavour == "linux24":
            return min(self.formula_s(), self.most_s)
        return min(max(self.formula_s() / doublings, self.least_s) * doublings, self.most_s)

    def sampled(self, rtt_s: float) -> Rto:
        """After one round trip that was measured (Jacobson 1988: an eighth of the error, a quarter of the deviation's)."""
        if self.srtt_s is None:
            bound = max(2 * rtt_s, self.least_s)
            return replace(self, srtt_s=rtt_s, deviation_s=rtt_s / 2, bound_s=bound)
        error = rtt_s - self.srtt_s
        step = abs(error) - self.deviation_s
        if self.flavour == "linux24" and error < 0 < step:
            # A round trip that got shorter does not raise the timeout: an eighth of it counts.
            step /= 8
        deviation = self.deviation_s + step / 4
        return replace(
            self, srtt_s=self.srtt_s + error / 8, deviation_s=deviation, bound_s=max(self.bound_s, 4 * deviation)
        )

    def expired(self) -> Rto:
        """After the timer fired: doubled once more, the congestion window at one segment."""
        return replace(self, backoff=self.backoff + 1, cwnd_segments=1)

    def reset(self) -> Rto:
        """Without doublings: what the idle-time study proposes for the first ACK of new data."""
        return replace(self, backoff=0)
