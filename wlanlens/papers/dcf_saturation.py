from __future__ import annotations

from wlanlens.models.dcf_tcp import DcfTcp
from wlanlens.papers._dcf import aggregate_mbps, curves, mean, rts_collision_share, within
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

STATIONS = tuple(range(1, 16))


@experiment("dcf_saturation", study="dcf_tcp", source="equations 15 and 16, after Bianchi")
def dcf_saturation(lab: Lab) -> Result:
    """Saturated stations: simulation and the collision model of equations 15 and 16.

    The report uses the model for downlink TCP, where it does not fit (`dcf_several_flows`); this is the case that it was
    made for. The model includes the LLC header of the simulated frames.
    """
    model = DcfTcp(mac_bits=224 + 64)
    cases = [
        ("saturated_stations", {"stations": n, "reserved": reserved, "duration_s": 60.0})
        for reserved in (True, False)
        for n in STATIONS
    ]
    got = [mean(runs) for runs in lab.measure_all(aggregate_mbps, cases, seeds=5)]
    rows: list[Row] = []
    lines, marks = [], []
    x = [float(n) for n in STATIONS]
    for reserved, here in ((True, got[:15]), (False, got[15:])):
        name = "RTS and CTS" if reserved else "no RTS"
        said = [model.saturated_mbps(n, reserved=reserved) for n in STATIONS]
        lines.append((f"model, {name}", x, said))
        marks.append((f"simulation, {name}", x, here))
        rows += [
            within(f"{n} stations, {name}, Mb/s", f"{m:.3f} (eqs. 15, 16)", m, 0.02, g, "collisions, doubling, EIFS")
            for n, m, g in zip(STATIONS, said, here, strict=True)
        ]
    some = (2, 5, 10, 15)
    collided = lab.measure_all(
        rts_collision_share, [("saturated_stations", {"stations": n, "duration_s": 60.0}) for n in some], seeds=5
    )
    for n, runs in zip(some, collided, strict=True):
        chance = model.backlog(n).collision_probability
        rows.append(
            within(
                f"{n} stations: share of RTS that collide",
                f"{chance:.3f} (eqs. 15, 16)",
                chance,
                0.1,
                mean(runs),
                "waiting stations keep their counters, which the model ignores",
            )
        )
    figure = curves("stations", "Mb/s, all together", lines, marks)
    return Result(tuple(rows), (("Saturation throughput against the number of stations.", figure),))
