from __future__ import annotations

from wlanlens.models.dcf_tcp import DcfTcp
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment


def exact(what: str, printed: float, half_unit: float, measured: float, because: str, *, derived: bool = False) -> Row:
    """A row that is right if it rounds to the printed value, or (`derived`) to a value derived from it by hand."""
    published = "not printed" if derived else f"{printed:g}"
    return Row(what, published, "E", measured, (printed - half_unit, printed + half_unit), because=because)


@experiment("dcf_printed_numbers", study="dcf_tcp", source="sections 4 and 5, equations 3 to 23")
def dcf_printed_numbers(lab: Lab) -> Result:  # noqa: ARG001  arithmetic, no simulation
    """The report's printed numbers from its own equations.

    Its stated constants do not give its times. With an RTS of 20 bytes and 28 bytes of MAC framing, the real sizes, the times
    agree to the last digit.
    """
    model, stated = DcfTcp(), DcfTcp(rts_bits=180, mac_bits=272)
    point = model.backlog(15)
    real = "RTS of 160 bits, 224 bits of MAC framing"
    rows = [
        exact("eq. 3: a segment on the air, s", 0.0018167, 5e-8, model.data_s(), real),
        exact("eq. 4: a TCP ACK on the air, s", 0.0010895, 5e-8, model.ack_s(), real),
        Row(
            "eq. 3 with the lengths stated, s",
            "0.0018167",
            "N",
            stated.data_s(),
            because="180 and 272 bits as stated differ from the printed time by 14 us",
        ),
        exact("eq. 5: mean backoff, us", 310, 0.5, 1e6 * model.backoff_s(), "31 / 2 slots of 20 us"),
        exact(
            "eq. 7: mean longer backoff, window 32, us",
            416.56,
            0.005,
            1e6 * model.contended_backoff_s(32),
            "mean of the greater of two counters",
            derived=True,
        ),
        exact(
            "eq. 7: the same, window 64, us",
            843.28,
            0.005,
            1e6 * model.contended_backoff_s(64),
            "after a collision",
            derived=True,
        ),
        exact(
            "eq. 7 against the sum of eq. 6, us",
            1e6 * model.slot_s * model.longer_backoff_slots(32),
            1e-9,
            1e6 * model.contended_backoff_s(32),
            "the closed form is exact for whole windows",
            derived=True,
        ),
        exact(
            "eq. 8: chance of a tie", 1 / 32, 1e-12, model.tie_probability(), "two counters of 32 values", derived=True
        ),
        exact(
            "eq. 9: time lost in a collision, us",
            642,
            0.5,
            1e6 * model.collision_s(),
            "includes the mean slot of a collision",
            derived=True,
        ),
        exact("eq. 10: backoff of an exchange, us", 450.0, 0.05, 1e6 * model.exchange_backoff_s(), real, derived=True),
        exact("eq. 12: ceiling, Mb/s", 3.762, 0.0005, model.ceiling_mbps(), "no TCP ACKs at all", derived=True),
        exact(
            "eqs. 15 and 16: probability that a packet is dropped, 15 stations",
            7.9689e-4,
            5e-9,
            model.drop_probability(15),
            "P_C ** 7, t_b in slots, five doublings, 14 others",
        ),
        exact(
            "eqs. 15 and 16: P_C of 15 stations",
            0.36086,
            5e-6,
            point.collision_probability,
            "where 15 and 16 meet",
            derived=True,
        ),
        exact(
            "eqs. 15 and 16: t_b of 15 stations, slots",
            31.778,
            5e-4,
            point.backoff_slots,
            "where 15 and 16 meet",
            derived=True,
        ),
        exact(
            "eq. 15: closed form against its sum, slots",
            model.backlogged_slots_summed(point.collision_probability),
            1e-9,
            model.backlogged_slots(point.collision_probability),
            "the same polynomial",
            derived=True,
        ),
        exact(
            "eq. 23: mean session delay, s",
            0.1095,
            5e-5,
            stated.session_s(reserved=True),
            "30 packets, the lengths as stated, and RTS and CTS in the set-up, which eq. 22 omits",
        ),
        Row(
            "eq. 23 as printed, real lengths, s",
            "0.1095",
            "N",
            model.session_s(),
            because="the report mixes constants: as printed it gives 0.1075",
        ),
    ]
    return Result(tuple(rows))
