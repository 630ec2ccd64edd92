from __future__ import annotations

from wlanlens.models.dcf_tcp import DcfTcp, left_over
from wlanlens.papers.dcf_printed_numbers import exact
from wlanlens.reproduction.experiment import Lab, Result, experiment

#: Equations 13 and 14, d = 1 to 5, with the real lengths and with those that the report states, Mb/s.
_WIDE = ((2.384, 2.363), (2.918, 2.895), (3.154, 3.130), (3.287, 3.263), (3.372, 3.347))
_NARROW = ((2.269, 2.250), (2.830, 2.809), (3.085, 3.062), (3.230, 3.207), (3.324, 3.301))
#: Equation 18 by number of nodes, and equation 20 for ten nodes, d = 1 to 5, Mb/s.
_DOWNLOADS = {2: 2.373, 3: 2.352, 4: 2.331, 5: 2.309, 6: 2.289, 8: 2.247, 10: 2.208, 15: 2.121}
_DELAYED = (2.216, 2.808, 3.073, 3.223, 3.319)
#: Probability of a collision with n backlogged stations.
_TIES = {2: 0.060, 5: 0.184, 10: 0.296, 15: 0.361}
#: Mean session delay (s): d, window greater than d, and by how much its last digit may be off.
_SESSIONS = ((1, False, 0.1104, 0.0001), (1, True, 0.1052, 0.0001), (2, True, 0.108, 0.0007), (3, True, 0.107, 0.0007),
             (4, True, 0.107, 0.0007), (5, True, 0.109, 0.0007))  # fmt: skip
#: Probability that d does not divide a file's number of segments.
_LEFT_OVER = {2: 0.537, 3: 0.671, 4: 0.737, 5: 0.852}


@experiment("dcf_model_values", study="dcf_tcp", source="equations 12 to 20 and 23, evaluated for its figures")
def dcf_model_values(lab: Lab) -> Result:  # noqa: ARG001  arithmetic, no simulation
    """The report's model at the points of its figures, which it shows without numbers.

    With the lengths that its printed times require, and with those that it states.
    """
    real, stated = DcfTcp(), DcfTcp(rts_bits=180, mac_bits=272)
    rows = []
    for name, model, column in (("", real, 0), (", lengths as stated", stated, 1)):
        for d, (wide, narrow) in enumerate(zip(_WIDE, _NARROW, strict=True), 1):
            rows += [
                exact(f"eq. 13: W >> 1, d={d}{name}, Mb/s", wide[column], 0.0006, model.wide_window_mbps(d),
                      "an ACK every d segments, contended", derived=True),
                exact(f"eq. 14: W = d = {d}{name}, Mb/s", narrow[column], 0.0006, model.narrow_window_mbps(d), "stop and wait", derived=True),
            ]  # fmt: skip
    rows += [
        exact("eq. 12: ceiling, lengths as stated, Mb/s", 3.736, 0.0006, stated.ceiling_mbps(), "no ACKs", derived=True),
        *(exact(f"eq. 18: {n} nodes, Mb/s", value, 0.0011, real.split_access_point_mbps(n), "n - 1 access points", derived=True)
          for n, value in _DOWNLOADS.items()),
        *(exact(f"eq. 20: 10 nodes, d={d}, Mb/s", value, 0.0011, real.split_access_point_delayed_mbps(10, d), "the same", derived=True)
          for d, value in enumerate(_DELAYED, 1)),
        *(exact(f"eqs. 15 and 16: P_C of {n} stations", value, 0.0006, real.backlog(n).collision_probability, "saturated", derived=True)
          for n, value in _TIES.items()),
        *(exact(f"eq. 23: mean session, {'W >> 1' if wide else 'W = 1'}, d={d}, s", value, half, real.mean_session_s(d, wide),
                "set-up with RTS and CTS, cycles, and the last ACK's wait", derived=True)
          for d, wide, value, half in _SESSIONS),
        *(exact(f"chance that d={d} leaves a last ACK to the timer", value, 0.0006, left_over(d), "Pareto files in whole segments", derived=True)
          for d, value in _LEFT_OVER.items()),
    ]  # fmt: skip
    return Result(tuple(rows))
