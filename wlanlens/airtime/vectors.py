"""Exchanges, their transmissions and trials of the channel as vectors, made in the core in one pass over the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from wlanlens import _core
from wlanlens.tables.columns import Array, arrays, batch_of

if TYPE_CHECKING:
    import pyarrow as pa

Vectors = dict[str, Array]

#: Columns of `exchanges` that are read.
_COLUMNS = (
    *("first_packet", "packets", "t_first_ns", "t_last_ns", "t_ack_ns", "attempts", "attempts_inferred", "inferred_by"),
    *("rates_mbps", "outcome", "airtime_us", "wasted_us", "mpdu_bytes", "carries", "tcp_kind"),
)


def exchange_vectors(
    exchanges: pa.Table, numbers: Mapping[str, Array], group: Sequence[bool], frames: Mapping[str, Array]
) -> tuple[Vectors, Vectors]:
    """Exchanges of unicast data of which a transmission was heard, by pair and first packet, and their transmissions.

    Parameters
    ----------
    exchanges : pa.Table
        The table.
    numbers : mapping
        `capture`, `ta` and `ra` of each row as whole numbers, -1 for none.
    group : sequence of bool
        For each number of an address, whether it is a group address.
    frames : mapping
        `key`, capture << 40 plus packet, rising, and columns of `frames` in this order: `t_ns`, `ta`, `ra`, `retry`, `ampdu`,
        `mpdu_bytes` as int64; `streams`, `width_mhz`, `signal_dbm` and `airtime_us` as float64.

    Returns
    -------
    tuple of dict
        The columns of `Exchanges` and of `Transmissions` of the detectors' toolkit; do not change them.

    Raises
    ------
    ValueError
        A column is missing or of another type.
    """
    made, heard = _core.exchange_vectors(
        exchanges.select(_COLUMNS).to_batches(), batch_of(numbers), list(group), batch_of(frames)
    )
    return arrays(made), arrays(heard)


def channel_trials(exchanges: Mapping[str, Array], transmissions: Mapping[str, Array]) -> Vectors:
    """Transmissions as trials of the channel, by pair and packet; those that the sniffer missed precede the first that it heard.

    Parameters
    ----------
    exchanges : mapping
        `pair`, `first`, `heard`, `inferred`, `missed_last` and `first_packet`, as `exchange_vectors` returns them.
    transmissions : mapping
        `packet`, `nth`, `bad`, `mpdu_bytes`, `ampdu`, `rate_mbps`, `airtime_us`, and `took_us`, the time of the channel that
        each took.

    Returns
    -------
    dict
        The columns of `Trials` of the detectors' toolkit; do not change them.

    Raises
    ------
    ValueError
        A column is missing or of another type.
    """
    return arrays(_core.channel_trials(batch_of(exchanges), batch_of(transmissions)))
