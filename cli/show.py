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

from wlanlens.errors import NoSuchUnit, did_you_mean

from . import journey, json_output, keys

if TYPE_CHECKING:
    from wlanlens.capture.capture import Capture, Record
    from wlanlens.capture.decryption_keys import Keys
    from wlanlens.trace import Trace

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
@click.option("--json", "as_json", is_flag=True, help="Print the packet, or its journeys, as JSON.")
@keys.options
def command(
    capture: bytes, packet: str, whole: bool, as_json: bool, key_file: bytes | None, key: tuple[str, ...]
) -> None:
    """Show PACKET of CAPTURE in full, with its rows in the tables.

    Packets are numbered from 1, as in Wireshark. With the directory of an analysis of several captures instead of
    CAPTURE, show the packet's journey: `wlanlens show DIR sender.pcap:35`, or `wlanlens show DIR 35` where only one journey
    has a packet 35. With the directory of an analysis of one capture, show the packet of that capture.
    """
    known = keys.given(key_file, key)
    if os.path.isdir(capture):
        _of_directory(capture, packet, whole, as_json, known)
    else:
        import wlanlens as wl

        _packet(wl.open(capture, keys=known), _number(packet), whole, as_json)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < len(text) < 20 or int(text) < 1:
        raise click.UsageError(f"{text!r} is not a packet number: packets are numbered from 1")
    return int(text)


def _of_directory(directory: bytes, packet: str, whole: bool, as_json: bool, known: Keys) -> None:
    """Print a record of an analysed directory: its journeys, or, of one capture, the record itself."""
    import wlanlens as wl
    from wlanlens.capture.identity import same_capture

    analysis = wl.load(os.fsdecode(directory))
    trace = analysis.trace
    where, _, number = packet.rpartition(":")
    if len(trace.captures) < 2:
        stored = trace.captures[0]
        if where and where not in (stored.name, stored.point):
            hint = did_you_mean(where, [stored.name], "the analysis has one capture")
            raise click.UsageError(f"the analysis has no capture {where!r}; {hint}")
        _packet(same_capture(stored, keys=known), _number(number), whole, as_json)
        return
    name = _capture_of(trace, where, _number(number))
    if as_json:
        rows = [_journey_row(row) for row in journey.rows(trace, name, _number(number))]
        json_output.show({"capture": name, "packet": _number(number), "journeys": rows})
        return
    found = journey.blocks(trace, name, _number(number), shutil.get_terminal_size((120, 24)).columns)
    click.echo("\n\n".join("\n".join(lines) for lines in found))


def _capture_of(trace: Trace, where: str, packet: int) -> str:
    """The capture of a packet: the one that is named, or the only one whose packet of this number is in a journey.

    Captures whose packets of this number are in the same journey need no choice.
    """
    import wlanlens as wl
    from wlanlens.formatting import printable

    names = [capture.name for capture in trace.captures]
    by_point = {c.point: c.name for c in reversed(trace.captures)}
    named = where if where in names else by_point.get(where, "")
    if where and not named:
        hint = did_you_mean(where, [*names, *by_point], f"the analysis has {', '.join(names)}")
        raise click.UsageError(f"the analysis has no capture {where!r}; {hint}")
    found = {name: journey.places(trace, name, packet) for name in ([named] if named else names)}
    found = {name: places for name, places in found.items() if places}
    if not found:
        of = f" of {printable(named)}" if named else ""
        raise wl.WlanlensError(f"packet {packet}{of} is in no journey: it is not part of an IP packet's path")
    if len({tuple(places) for places in found.values()}) > 1:
        given = ", ".join(f"{name}:{packet}" for name in found)
        raise click.UsageError(
            f"several journeys have a packet {packet}: say which, one of {printable(given, limit=2000)}"
        )
    return next(iter(found))


def _packet(opened: Capture, packet: int, whole: bool, as_json: bool) -> None:
    """Print one record of a capture."""
    import wlanlens as wl
    from wlanlens.formatting import printable

    found = opened.records([packet])
    if not found:
        raise NoSuchUnit(f"there is no packet {packet}", path=printable(opened.path))
    record = found[0]
    lines = dissect(record).splitlines()[:LINES]
    tables = rows(opened, packet)
    if as_json:
        about = {"capture": opened.name, "packet": packet, "time_ns": record.time_ns, "link_type": record.link_type}
        sizes = {"captured_bytes": len(record.data), "wire_bytes": record.wire_bytes, "offset": record.offset}
        json_output.show({**about, **sizes, "dissection": lines, "rows": [{"table": n, **row} for n, row in tables]})
        return
    click.echo(
        f"packet {packet}: {len(record.data)} of {record.wire_bytes} bytes, link type {record.link_type}, "
        f"at byte {record.offset}, time {_time(record.time_ns)}"
    )
    for line in lines:
        click.echo("  " + printable(line, limit=1000))
    for name, row in tables:
        brief = wl.brief_columns(name)
        shown = row if whole or not brief else {column: row[column] for column in brief if column in row}
        more = f" ({len(row) - len(shown)} more columns with --all)" if len(shown) < len(row) else ""
        click.echo(f"\n{name}{more}")
        width = max(len(column) for column in shown)
        for column, value in shown.items():
            click.echo(f"  {column:{width}}  {printable(str(value))}")


def _journey_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of `links` without what is null."""
    return {name: value for name, value in row.items() if value is not None}


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
