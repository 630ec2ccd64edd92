"""The causes in a verdict: categories of the ledger, the words for each, and from which share a cause is named."""

from __future__ import annotations

from collections.abc import Mapping

from wlanlens.detection.verdict_reasons import SHARE

#: Categories that are one cause, and what the sentence says about it; {s} is "1.56 s (30 %)".
CAUSES = (
    (("rto_wait", "rto_backoff", "spurious_recovery", "loss_recovery"), "it spent {s} on {timeouts}"),
    (("fast_recovery",), "it spent {s} in fast recovery{losses}"),
    (("receiver_window",), "it was limited by the receiver's window for {s}"),
    (("delayed_ack",), "it waited {s} for delayed ACKs"),
    (("queue",), "it had {s} of queueing delay"),
    (("usb",), "it spent {s} on the USB bus"),
    (("air_retries",), "it spent {s} on 802.11 retries"),
    (("air_others",), "it lost {s} to other stations' airtime"),
)

#: ns, words and categories.
Cause = tuple[int, str, tuple[str, ...]]

#: A second cause is named from this share.
SECOND_SHARE = 0.05
#: Every further cause, and every other category, is stated from this share.
STATED_SHARE = 0.1
#: A flow that the application limited for this share of its lifetime is called application-limited.
APPLICATION_SHARE = 0.5
#: Of such a flow a cause is named only from this share, or from this many ns: what matters to a user.
BESIDE_APPLICATION_SHARE, BESIDE_APPLICATION_NS = 0.1, 10**9


def causes(categories: Mapping[str, int]) -> tuple[list[Cause], bool]:
    """The causes that are named, the costliest first, each with its ns, its words and its categories; and whether the
    application limited the flow: for most of the time, or for a stated share where no cause took one."""
    lifetime, application = sum(categories.values()), categories.get("application", 0)
    idle = bool(lifetime) and application >= lifetime * APPLICATION_SHARE
    every: list[Cause] = [(sum(categories.get(c, 0) for c in group), text, group) for group, text in CAUSES]
    every.sort(key=lambda cause: -cause[0])
    # A cause that costs less than those before it must take a larger share to be named.
    shares = [SHARE, SECOND_SHARE, *[STATED_SHARE] * len(every)]
    # Of a sender that was idle for most of the time, the time with something to send counts.
    active = lifetime - application if idle else lifetime
    named = [c for c, least in zip(every, shares, strict=False) if lifetime and c[0] >= max(1, active * least)]
    if idle:
        least = min(lifetime * BESIDE_APPLICATION_SHARE, BESIDE_APPLICATION_NS)
        named = [c for c in named if c[0] >= least]
    stated = lifetime * STATED_SHARE
    return named, idle or (application >= max(1, stated) and all(ns < stated for ns, _, _ in named))
