from __future__ import annotations

from typing import Any

from wlanlens.models.dcf_tcp import DcfTcp
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

NODES = (2, 3, 4, 5, 6, 8, 10, 15)
EVERY = (1, 2, 3, 4, 5)


def _eq18(model: Any, *, window: float, backoff_slots: float) -> float:
    """Equation 18 with another equivalent window, or another mean collision slot in T_coll, Mb/s."""
    waits = model.contended_backoff_s(window) + model.collision_s(backoff_slots) / window
    return float(model.tcp_bits / (model.data_s() + model.ack_s() + waits) / 1e6)


def _eq20(model: Any, d: int, *, ties: float | None = None, alone_s: float | None = None) -> float:
    """Equation 20 for n = 10 with another window in its T_coll / CW, or another last term, Mb/s."""
    slots = model.backlog(10, d).backoff_slots
    window = 2 * slots
    contended = model.ack_s() + model.contended_backoff_s(window) + model.collision_s(slots) / (ties or window)
    alone = slots * model.slot_s if alone_s is None else alone_s
    return float(model.tcp_bits / (model.data_s() + contended / d + (d - 1) / d * alone) / 1e6)


def _most(what: str, limit: float, changes: list[float], because: str) -> Row:
    most = 100 * max(abs(c) for c in changes)
    return Row(f"{what}: largest change of throughput, %", "not printed", "E", most, (0.0, limit), because=because)


@experiment("dcf_readings", study="dcf_tcp", source="equations 17 to 20 and 22")
def dcf_readings(lab: Lab) -> Result:  # noqa: ARG001  arithmetic, no simulation
    """Ambiguities in the report's equations, and their small effect.

    The text after equation 19 has another equivalent window than equation 17, equation 18 has a time T_cont that is not
    defined, equation 20 a window without a tilde, and equation 22 no MAC header.
    """
    model = DcfTcp()
    point = {n: model.backlog(n).backoff_slots for n in NODES}
    base18 = {n: model.split_access_point_mbps(n) for n in NODES}
    base20 = {d: model.split_access_point_delayed_mbps(10, d) for d in EVERY}
    window = [_eq18(model, window=2 * point[n], backoff_slots=point[n]) / base18[n] - 1 for n in NODES]
    tie = [_eq18(model, window=2 * point[n] + 1, backoff_slots=15.5) / base18[n] - 1 for n in NODES]
    least = [_eq20(model, d, ties=model.cw_min) / base20[d] - 1 for d in EVERY]
    alone = [_eq20(model, d, alone_s=model.backoff_s()) / base20[d] - 1 for d in EVERY if d > 1]
    rows = (
        _most("eq. 17's 2 t_b + 1 or the text's 2 t_b, n = 2 to 15", 0.4, window, "one slot of thirty or more"),
        _most("eq. 18: T_cont as T_coll with t_b of one station", 0.3, tie, "it is divided by the window"),
        _most("eq. 20: CW as CW_min, n = 10, d = 1 to 5", 0.4, least, "the same"),
        Row(
            "eq. 20's last t_b as 310 us instead of its own, smallest and largest change, %",
            "not printed",
            "S",
            f"{100 * min(alone):.1f} to {100 * max(alone):.1f}",
            holds=min(alone) > 0.01 and max(alone) < 0.02,
            because="a backlogged station waits longer than a single one: the only ambiguity that matters",
        ),
        Row(
            "eq. 22: time added by the MAC header, us",
            "not printed",
            "E",
            1e6 * (model.setup_s(mac=True) - model.setup_s()),
            (40.5, 41.5),
            because="two packets of 224 bits at 11 Mb/s",
        ),
        Row(
            "eq. 22: time added by RTS and CTS, ms",
            "not printed",
            "E",
            1e3 * (model.setup_s(reserved=True) - model.setup_s(mac=True)),
            (1.05, 1.15),
            because="two frames and two spaces before each of two packets",
        ),
    )
    return Result(rows)
