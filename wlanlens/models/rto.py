from __future__ import annotations

from dataclasses import dataclass, replace

from wlanlens.reproduction.model import model

#: Known estimators.
FLAVOURS = ("rfc6298", "linux22", "linux24")


@model("rto")
@dataclass(frozen=True, kw_only=True)
class Rto:
    """The retransmission timeout of a TCP sender: RFC 6298, Linux 2.2 and Linux 2.4, with backoff.

    Times in seconds. `deviation_s` is RFC 6298's RTTVAR, Linux's mdev; `bound_s` is Linux 2.4's rttvar, four times the
    largest recent deviation. `cwnd_segments` matters to Linux 2.2 only: equation (1) of the idle-time study.
    `backoff` is the number of doublings in force. Sources: RFC 6298 section 2; Linux 2.2 `tcp_set_rto` and `tcp_rtt_estimator`;
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
        """The timeout of the estimates with backoff, without floor or ceiling."""
        if self.srtt_s is None:
            return self.initial_s * 2.0**self.backoff
        if self.flavour == "linux22":
            # The kernel shifts by the window without a bound; 2^-(cwnd-1) is the intended value.
            fresh = (self.srtt_s + 4 * self.deviation_s) * (1.25 + 2.0 ** -(self.cwnd_segments - 1))
        elif self.flavour == "linux24":
            fresh = self.srtt_s + max(self.bound_s, self.least_s)
        else:
            fresh = self.srtt_s + max(self.granularity_s, 4 * self.deviation_s)
        return fresh * 2.0**self.backoff

    def timeout_s(self) -> float:
        """The value set on the timer: at least the floor, at most the ceiling.

        The floor applies before doubling, because a running timer doubles from there.
        """
        doublings = 2.0**self.backoff
        if self.srtt_s is None or self.flavour == "linux24":
            return min(self.formula_s(), self.most_s)
        return min(max(self.formula_s() / doublings, self.least_s) * doublings, self.most_s)

    def sampled(self, rtt_s: float) -> Rto:
        """The estimates after one round-trip sample (Jacobson 1988: 1/8 of the error, 1/4 of the deviation)."""
        if self.srtt_s is None:
            bound = max(2 * rtt_s, self.least_s)
            return replace(self, srtt_s=rtt_s, deviation_s=rtt_s / 2, bound_s=bound)
        error = rtt_s - self.srtt_s
        step = abs(error) - self.deviation_s
        if self.flavour == "linux24" and error < 0 < step:
            # A shorter round trip must not raise the timeout: 1/8 of it counts.
            step /= 8
        deviation = self.deviation_s + step / 4
        return replace(
            self, srtt_s=self.srtt_s + error / 8, deviation_s=deviation, bound_s=max(self.bound_s, 4 * deviation)
        )

    def expired(self) -> Rto:
        """After an expiry: one more doubling, congestion window of one segment."""
        return replace(self, backoff=self.backoff + 1, cwnd_segments=1)

    def reset(self) -> Rto:
        """Without doublings, as the idle-time study proposes at the first ACK of new data."""
        return replace(self, backoff=0)
