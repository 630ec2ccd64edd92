"""`wlanlens show`: one packet in full, dissected by scapy, with its rows in our tables beside it.

The only place that imports scapy, which is licensed GPL-2.0-only (see THIRD-PARTY.md). It is handed one record, in a
guard: scapy raises on malformed bytes.
"""

from __future__ import annotations

import io
import logging
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from . import keys

if TYPE_CHECKING:
    from wlanlens.capture import Capture, Record

#: Lines of a dissection that are printed.
LINES = 400

#: Tables with rows of one packet.
TABLES = ("packets", "segments", "timeouts", "recoveries")


@click.command("show")
@click.argument("capture", metavar="CAPTURE", type=click.Path(path_type=bytes))
@click.argument("packet", metavar="PACKET", type=click.IntRange(min=1))
@keys.options
def command(capture: bytes, packet: int, key_file: bytes | None, key: tuple[str, ...]) -> None:
    """Show one PACKET (numbered from 1, as in Wireshark) of CAPTURE in full, with its rows."""
    import wlanlens as wl
    from wlanlens.text import printable

    opened = wl.open(capture, keys=keys.given(key_file, key))
    found = opened.records([packet])
    if not found:
        raise wl.WlanlensError(f"there is no packet {packet}", path=printable(opened.path))
    record = found[0]
    click.echo(
        f"packet {packet}: {len(record.data)} of {record.wire_bytes} bytes, link type {record.link_type}, "
        f"at byte {record.offset}, time {_time(record.time_ns)}"
    )
    for line in dissect(record).splitlines()[:LINES]:
        click.echo("  " + printable(line, limit=1000))
    for name, row in rows(opened, packet):
        click.echo(f"\n{name}")
        width = max(len(column) for column in row)
        for column, value in row.items():
            click.echo(f"  {column:{width}}  {printable(str(value))}")


def _time(time_ns: int | None) -> str:
    from datetime import UTC, datetime

    if time_ns is None:
        return "unknown"
    whole = datetime.fromtimestamp(time_ns // 10**9, UTC) if abs(time_ns) < 2 * 10**20 else None
    return f"{whole:%Y-%m-%d %H:%M:%S}.{time_ns % 10**9:09} UTC" if whole else str(time_ns)


def dissect(record: Record) -> str:
    """Scapy's view of one record."""
    logging.getLogger("scapy").setLevel(logging.CRITICAL)
    from scapy.config import conf

    layer = _layer(conf, record.link_type)
    if layer is None:
        return f"scapy has no dissector of link type {record.link_type}\n" + record.data.hex(" ")
    written = io.StringIO()
    try:
        with redirect_stdout(written):
            layer(record.data).show()
    except Exception as error:  # noqa: BLE001 - scapy raises whatever it likes on malformed bytes; the record is shown raw
        return f"scapy cannot dissect it ({type(error).__name__}: {error})\n" + record.data.hex(" ")
    return written.getvalue()


def _layer(conf: Any, link_type: int) -> Any:
    """Scapy's class of a LINKTYPE_ value."""
    import scapy.layers.dot11
    import scapy.layers.inet
    import scapy.layers.inet6
    import scapy.layers.l2
    import scapy.layers.ppp
    import scapy.layers.usb  # noqa: F401 - each registers its link types

    if link_type in (101, 228, 229):  # raw IP: the version is in the first bits
        return _raw_ip
    return conf.l2types.get(link_type)


def _raw_ip(data: bytes) -> Any:
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6

    return IPv6(data) if data[:1] and data[0] >> 4 == 6 else IP(data)


def rows(capture: Capture, packet: int) -> list[tuple[str, dict[str, Any]]]:
    """The packet's rows in our tables: those of the batches up to the one that holds it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    out: list[tuple[str, dict[str, Any]]] = []
    feed = capture.feed()
    for batches in feed:
        for name, batch in batches:
            if name in TABLES:
                found = batch.filter(pc.equal(batch.column("packet"), pa.scalar(packet, pa.uint64())))
                out += [(name, _plain(found, i)) for i in range(found.num_rows)]
    return sorted(out, key=lambda row: TABLES.index(row[0]))


def _plain(batch: Any, index: int) -> dict[str, Any]:
    """One row without its nulls; times as whole nanoseconds, which Python's datetime cannot hold."""
    import pyarrow as pa

    out = {}
    for field, column in zip(batch.schema, batch.columns, strict=True):
        one = column.slice(index, 1)
        value = (one.cast(pa.int64()) if pa.types.is_timestamp(field.type) else one).to_pylist()[0]
        if value is not None:
            out[field.name] = _time(value) if pa.types.is_timestamp(field.type) else value
    return out
