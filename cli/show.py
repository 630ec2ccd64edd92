"""`wlanlens show`: one packet in full, dissected by scapy, with its rows in our tables.

The only module that imports scapy, which is licensed GPL-2.0-only (see THIRD-PARTY.md).
"""

from __future__ import annotations

import io
import logging
import os
import shutil
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from . import journey, keys

if TYPE_CHECKING:
    from wlanlens.capture.capture import Capture, Record
    from wlanlens.capture.decryption_keys import Keys

#: Printed lines of a dissection.
LINES = 400

#: Tables with rows about one packet.
TABLES = ("packets", "segments", "timeouts", "recoveries", "frames", "exchanges", "urbs")

#: Columns with packet numbers, of tables without a column `packet`.
_PACKETS = {"exchanges": ("packets", "ack_packet"), "urbs": ("submit_packet", "complete_packet")}


@click.command("show")
@click.argument("capture", metavar="CAPTURE", type=click.Path(path_type=bytes))
@click.argument("packet", metavar="PACKET")
@click.option("--all", "whole", is_flag=True, help="Show all columns of wide tables.")
@keys.options
def command(capture: bytes, packet: str, whole: bool, key_file: bytes | None, key: tuple[str, ...]) -> None:
    """Show PACKET of CAPTURE in full, with its rows in the tables.

    Packets are numbered from 1, as in Wireshark. With the directory of an analysis of several captures instead of
    CAPTURE, show the packet's journey: `wlanlens show DIR sender.pcap:35`.
    """
    if os.path.isdir(capture):
        _journey(capture, packet)
    else:
        _packet(capture, _number(packet), whole, keys.given(key_file, key))


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < len(text) < 20 or int(text) < 1:
        raise click.UsageError(f"{text!r} is not a packet number: packets are numbered from 1")
    return int(text)


def _journey(directory: bytes, packet: str) -> None:
    """Print the journeys of one record of an analysed directory."""
    import wlanlens as wl
    from wlanlens.formatting import printable

    trace = wl.load(os.fsdecode(directory)).trace
    names = [capture.name for capture in trace.captures]
    where, _, number = packet.rpartition(":")
    by_point = {c.point: c.name for c in reversed(trace.captures)}
    name = where if where in names else by_point.get(where, "")
    if not name:
        given = ", ".join(f"{n}:{number or packet}" for n in names)
        raise click.UsageError(f"name the capture of the packet, one of: {printable(given, limit=2000)}")
    if len(names) < 2:
        raise wl.WlanlensError(
            "a journey needs captures from several points; this analysis has one",
            path=printable(os.fsdecode(directory)),
            next="`wlanlens show CAPTURE PACKET` shows a packet of one capture",
        )
    found = journey.blocks(trace, name, _number(number), shutil.get_terminal_size((120, 24)).columns)
    if not found:
        raise wl.WlanlensError(
            f"packet {number} of {printable(name)} is in no journey: it is not part of an IP packet's path"
        )
    click.echo("\n\n".join("\n".join(lines) for lines in found))


def _packet(capture: bytes, packet: int, whole: bool, key_lines: Keys) -> None:
    """Print one record of a capture."""
    import wlanlens as wl
    from wlanlens.formatting import printable

    opened = wl.open(capture, keys=key_lines)
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
        brief = wl.brief_columns(name)
        shown = row if whole or not brief else {column: row[column] for column in brief if column in row}
        more = f" ({len(row) - len(shown)} more columns with --all)" if len(shown) < len(row) else ""
        click.echo(f"\n{name}{more}")
        width = max(len(column) for column in shown)
        for column, value in shown.items():
            click.echo(f"  {column:{width}}  {printable(str(value))}")


def _time(time_ns: int | None) -> str:
    from wlanlens.formatting import utc

    if time_ns is None:
        return "unknown"
    return utc(time_ns) if abs(time_ns) < 2 * 10**20 else str(time_ns)


def dissect(record: Record) -> str:
    """The dissection of one record by scapy."""
    logging.getLogger("scapy").setLevel(logging.CRITICAL)
    from scapy.config import conf

    layer = _layer(conf, record.link_type)
    if layer is None:
        return f"scapy has no dissector for link type {record.link_type}\n" + record.data.hex(" ")
    written = io.StringIO()
    try:
        with redirect_stdout(written):
            layer(record.data).show()
    except Exception as error:  # noqa: BLE001 - scapy raises anything on malformed bytes; the record is shown raw
        return f"scapy cannot dissect this record ({type(error).__name__}: {error})\n" + record.data.hex(" ")
    return written.getvalue()


def _layer(conf: Any, link_type: int) -> Any:
    """The scapy class for a LINKTYPE_ value."""
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
    """The packet's rows in our tables."""
    out: list[tuple[str, dict[str, Any]]] = []
    feed = capture.feed()
    for batches in feed:
        for name, batch in batches:
            if name in TABLES:
                found = batch.filter(_holds(name, batch, packet))
                out += [(name, _plain(found, i)) for i in range(found.num_rows)]
    return sorted(out, key=lambda row: TABLES.index(row[0]))


def _holds(name: str, batch: Any, packet: int) -> Any:
    """Which rows of a batch are about a packet."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.scalar(packet, pa.uint64())
    mask = None
    for column in _PACKETS.get(name, ("packet",)):
        values = batch.column(column)
        if pa.types.is_list(values.type):
            at = pc.list_parent_indices(values).filter(pc.equal(pc.list_flatten(values), wanted))
            here = pc.is_in(pa.array(range(batch.num_rows), pa.int64()), at.cast(pa.int64()))
        else:
            here = pc.equal(values, wanted).fill_null(False)
        mask = here if mask is None else pc.or_(mask, here)
    return mask


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
