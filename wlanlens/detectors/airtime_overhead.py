from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import NULL, Array, Finding, count, duration, enum_mask, make_finding, vector
from wlanlens.registry import detector

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.trace import Trace

CODE = "airtime_overhead"

#: Highest mandatory rate of the PHYs whose rates are basic rates, Mbit/s (IEEE 802.11-2020 clauses 16.2.3.3 and 17.2.2.3).
_DSSS_HIGHEST_MBPS, _OFDM_HIGHEST_MBPS = 11.0, 24.0
_DSSS_MBPS = (1.0, 2.0, 5.5, 11.0)


def _phrase(finding: Finding) -> str:
    return f"beacons, management and low basic rates took {100 * finding.values['overhead_share']:.0f} % of the air"


@detector(
    CODE,
    needs=("frames",),
    phrase=_phrase,
    saving="overhead",
    remedy=Remedy(
        "Access points on the channel: raise the lowest basic rate (no 802.11b rates; 6, 12 or 24 Mbit/s for "
        "beacons), announce fewer names (SSIDs), or move networks to another channel.",
        "capture the channel again: the share of airtime without data falls below a fifth.",
    ),
)
def airtime_overhead(trace: Trace, *, overhead_share: float = 0.2, least_time_s: float = 1.0) -> Iterator[Finding]:
    """Beacons, management frames and low basic rates took a large part of the air.

    What it finds
    -------------
    Channels on which frames that carry no data took more than a fifth of the time: management frames (beacons, probes and
    others) with all their airtime, and ACKs, RTS, CTS and other control frames with the time that they took longer than at
    the highest mandatory rate. The cost is that time on the air.

    Why it happens
    --------------
    Each network sends a beacon about ten times a second for each of its names (SSID), at the lowest basic rate, so that the
    oldest station understands it. Access points on one channel share that channel's time. Control frames answer at a
    basic rate, too.

    How it decides
    --------------
    From `airtime_us` of `frames`, by channel; damaged frames count for nothing.
    `overhead_share`: a fifth of the time. A beacon of 300 bytes takes 2.6 ms at 1 Mbit/s, every 102.4 ms: a fifth are eight networks,
    twice as many as planners put on one channel.
    `least_time_s`: ten intervals of the usual beacon, so that a burst of probes does not count.

    What fools it
    -------------
    A sniffer that hears weak beacons of far networks counts them, although a station near the access point may send
    at the same time. One that hops between channels hears each for a part of the time: its share is too low. Frames
    without a known rate have no airtime and are left out.

    References
    ----------
    IEEE 802.11-2020 clauses 9.3.3.2 and 11.1.3 (beacons), 10.6.5 (rate of management and group frames), 10.6.6 (rate of control
    frames); von Nagy, "SSID overhead: how many Wi-Fi SSIDs are too many?", 2013.
    """
    table = trace.table("frames")
    t_ns, airtime = vector(table.column("t_ns")), vector(table.column("airtime_us"))
    known = (t_ns != NULL) & ~np.isnan(airtime) & (vector(table.column("fcs_ok")) != 0)
    management = known & enum_mask(table.column("type"), ("management",))
    control = known & enum_mask(table.column("type"), ("control",))
    overhead_us, controls = np.where(management, airtime, 0.0), np.flatnonzero(control)
    overhead_us[controls] = _too_long_us(table, controls)
    beacon, channel = enum_mask(table.column("subtype"), ("beacon",)), vector(table.column("channel_mhz"))
    for mhz in np.unique(channel).tolist():
        mine = np.flatnonzero((channel == mhz) & known)
        if not len(mine):
            continue
        start, end = int(t_ns[mine].min()), int(t_ns[mine].max())
        length_s, cost_s = (end - start) / 1e9, float(overhead_us[mine].sum()) / 1e6
        if length_s < least_time_s or cost_s < overhead_share * length_s:
            continue
        beacons = mine[beacon[mine]]
        senders = len(table.column("ta").take(beacons).unique())
        beacons_s, managed_s = float(airtime[beacons].sum()) / 1e6, float(airtime[mine][management[mine]].sum()) / 1e6
        subject = f"channel {mhz} MHz" if mhz != NULL else "the channel"
        most = mine[np.argsort(-overhead_us[mine], kind="stable")]
        yield make_finding(
            code=CODE,
            t_start_ns=start,
            t_end_ns=end,
            capture=str(table.column("capture")[int(mine[0])]),
            subject=subject,
            cost_s=cost_s,
            lifetime_s=length_s,
            confidence=0.9,
            values={
                "overhead_share": cost_s / length_s,
                "beacons_s": beacons_s,
                "other_management_s": managed_s - beacons_s,
                "low_rates_s": cost_s - managed_s,
                "beacon_senders_count": senders,
            },
            evidence={"frames": vector(table.column("packet"))[most]},
            sentence=(
                f"{subject}: frames without data took {100 * cost_s / length_s:.0f} % of {duration(length_s)}: beacons of {count(senders, 'sender')} "
                f"{duration(beacons_s)}, other management {duration(managed_s - beacons_s)}, and control frames at low rates "
                f"{duration(cost_s - managed_s)}."
            ),
        )


def _too_long_us(table: pa.Table, rows: Array) -> Array:
    """How much longer some frames took than at the highest mandatory rate of their PHY; 0 where that is unknown."""
    rate, bits = vector(table.column("rate_mbps"))[rows], vector(table.column("mpdu_bytes"))[rows] * 8.0
    highest = np.where(np.isin(rate, _DSSS_MBPS), _DSSS_HIGHEST_MBPS, _OFDM_HIGHEST_MBPS)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.maximum(np.nan_to_num(bits / rate - bits / highest, posinf=0.0), 0.0))
