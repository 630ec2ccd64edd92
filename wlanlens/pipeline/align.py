"""`align`: captures as one Trace in memory, whose tables are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from wlanlens import airtime, tables
from wlanlens.alignment import align as alignment
from wlanlens.capture import quality
from wlanlens.correlation.combined_tables import CombinedTables
from wlanlens.errors import file_errors
from wlanlens.ledger import ledger
from wlanlens.pipeline.open_captures import AnyPath, open_captures
from wlanlens.tables.lazy_tables import LazyTables
from wlanlens.trace import Trace

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture
    from wlanlens.capture.decryption_keys import Keys


@file_errors()
def align(
    captures: Sequence[AnyPath | Capture] | AnyPath,
    *,
    roles: Mapping[str, AnyPath] | None = None,
    keys: Keys | Iterable[str] | None = None,
    nat: bool = False,
) -> Trace:
    """Put captures on one time axis.

    The clock of one capture is the axis itself. The clocks of several are fitted to one of them by the packets that they
    share, and the table `links` holds which rows are the same packet.

    Parameters
    ----------
    captures : path, Capture, or sequence of them
        The captures.
    roles : mapping, optional
        Captures by capture point: {"sender": "a.pcap"}.
    keys : optional
        Keys of encrypted 802.11 networks, as in `open`.
    nat : bool
        Addresses or ports were changed between the capture points.

    Returns
    -------
    Trace

    Raises
    ------
    AlignmentError
        The captures cannot be one trace; the sentence says why.
    """
    opened = open_captures(captures, roles=roles, keys=keys)
    if len(opened) == 1:
        own = LazyTables({name: partial(opened[0].table, name) for name in tables.core_schemas()})
        held = _with_derived(opened, own, own, lambda: ledger.build(own))
        return Trace(opened, held, find_duration_ns=opened[0].find_duration_ns)
    aligned = alignment.align_captures(opened, nat=nat)
    combined = CombinedTables(opened, aligned)
    leading = combined.leading()
    names = [capture.name for capture in opened]

    def of_sending_ends() -> pa.Table:
        return combined.leaders.labelled(ledger.build({**leading, **combined.of_senders()}), names)

    held = _with_derived(opened, combined, leading, of_sending_ends)
    judged = LazyTables(
        {
            **{name: partial(leading.__getitem__, name) for name in leading},
            "ledger": partial(held.__getitem__, "ledger"),
        }
    )
    return Trace(opened, held, leading=judged, start_ns=aligned.start_ns, clocks=aligned.clocks)


def _with_derived(
    captures: Sequence[Capture],
    held: Mapping[str, pa.Table],
    leading: Mapping[str, pa.Table],
    made_ledger: Callable[[], pa.Table],
) -> LazyTables:
    """The tables of captures, the ledger, and the tables that are computed from those for detectors."""

    @cache
    def air() -> dict[str, pa.Table]:
        sums = airtime.of_tables(leading["frames"], leading["exchanges"])
        return sums.tables(max(captures, key=lambda capture: capture.rows("frames")).name)

    return LazyTables(
        {
            **{name: partial(held.__getitem__, name) for name in held},
            "ledger": made_ledger,
            "quality": lambda: quality.of(captures),
            "airtime": lambda: air()["airtime"],
            "stations": lambda: air()["stations"],
        }
    )
