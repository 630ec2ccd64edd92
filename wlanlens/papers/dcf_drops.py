from __future__ import annotations

from wlanlens.models.dcf_tcp import DcfTcp
from wlanlens.papers._dcf import dropped_share, mean, within
from wlanlens.reproduction.experiment import Lab, Result, experiment

#: Of the report's example; and simulated time of each seed: five have twelve hundred drops, 3 % from draw to draw.
STATIONS, SECONDS = 15, 600.0


@experiment("dcf_drops", study="dcf_tcp", source="section 4.3, after equation 16")
def dcf_drops(lab: Lab) -> Result:
    """Packets that saturated stations give up: seven RTS in a row without CTS.

    The report's probability is P_C ** 7, because an RTS without CTS counts on the short retry limit. ns-2 drops 7.4e-4 of
    the packets of 15 stations (its trace has two lines for each drop).
    """
    published = DcfTcp().drop_probability(STATIONS)
    runs = lab.measure(
        "saturated_stations", dropped_share, seeds=5, stations=STATIONS, reserved=True, duration_s=SECONDS
    )
    what = f"{STATIONS} stations: share of packets that are dropped"
    because = "seven RTS in a row without CTS; collisions raise the window, which limits them"
    return Result((within(what, f"{published:.5g} (after eq. 16)", published, 0.1, mean(runs), because),))
