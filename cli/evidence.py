"""`wlanlens evidence`: the packets behind a finding as pcapng for Wireshark, with a comment on each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wlanlens.capture.capture import Record
    from wlanlens.detection.finding import Finding

#: Value of the pcapng option if_tsresol for nanoseconds; the default is microseconds.
_NANOSECONDS = b"\x09"
#: The first bytes of every pcapng file: the type of the section header block.
_SECTION = b"\x0a\x0d\x0d\x0a"


@click.command("evidence")
@click.argument("directory", metavar="DIR", type=click.Path())
@click.argument("text", metavar="FINDING")
@click.option(
    "-o", "--out", metavar="FILE", type=click.Path(), help="Output file (default: DIR/evidence-FINDING.pcapng)."
)
@click.option(
    "--capture",
    "given",
    metavar="FILE",
    type=click.Path(path_type=bytes),
    help="The capture, if it is not where it was analysed.",
)
def command(directory: str, text: str, out: str | None, given: bytes | None) -> None:
    """Write the packets behind FINDING of an analysed DIR as pcapng for Wireshark.

    FINDING is the number of the finding in the report and in findings.json, counted from 1. The packets are read from
    the original capture, whose path the analysis holds. It must be a regular file with the size and the first bytes that
    were analysed; --capture names it where it was moved.
    """
    import wlanlens as wl
    from wlanlens.formatting import printable
    from wlanlens.pipeline.file_names import evidence
    from wlanlens.pipeline.output_dir import Output

    number = _number(text)
    analysis = wl.load(directory)
    if number > len(analysis.findings):
        raise click.UsageError(f"there is no finding {number}: {directory} has {len(analysis.findings)}")
    finding = analysis.findings[number - 1]
    numbers, comments = packets_of(finding, number)
    if not numbers:
        raise wl.WlanlensError(f"finding {number} ({printable(finding.code)}) has no packets as evidence")
    records = _records(analysis, finding, numbers, given)
    target = Path(out) if out else Path(directory) / evidence(number)
    if out and target.exists() and not _is_pcapng(target):
        raise click.UsageError(f"-o {printable(out)}: it exists and is no pcapng file")
    with Output(target.parent, whole=False) as output:
        path = output.file(target.name)
        with output.writing(), open(path, "xb") as file:
            write(file, records, comments)
        output.replace()
    click.echo(printable(str(target), limit=5000))


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < len(text) < 20 or int(text) < 1:
        raise click.UsageError(
            f"{text!r} is not the number of a finding: the report and findings.json number findings from 1"
        )
    return int(text)


def _is_pcapng(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SECTION)) == _SECTION


def packets_of(finding: Finding, number: int) -> tuple[list[int], dict[int, str]]:
    """The packets of a finding and the comment on each."""
    tables: dict[int, list[str]] = {}
    for table, capture, packets in finding.evidence:
        if capture == finding.capture:
            for packet in packets:
                tables.setdefault(packet, []).append(table)
    head, tail = f"wlanlens finding {number}, {finding.code}", finding.sentence
    return sorted(tables), {packet: f"{head} ({', '.join(names)}): {tail}" for packet, names in tables.items()}


def _records(analysis: Any, finding: Finding, numbers: Sequence[int], given: bytes | None) -> list[Record]:
    import wlanlens as wl
    from wlanlens.capture.identity import same_capture
    from wlanlens.formatting import printable

    known = next((c for c in analysis.trace.captures if c.name == finding.capture), None)
    if known is None:
        raise wl.WlanlensError(f"the analysis has no capture {printable(finding.capture)}")
    return same_capture(known, given, option="--capture FILE names the capture").records(numbers)


def write(file: Any, records: Sequence[Record], comments: dict[int, str]) -> None:
    """Write records as pcapng: one interface per link type, times in nanoseconds."""
    from dpkt import pcapng

    from wlanlens.formatting import printable

    def comment(text: str) -> Any:
        return pcapng.PcapngOptionLE(code=pcapng.PCAPNG_OPT_COMMENT, data=printable(text, limit=1000).encode())

    end = pcapng.PcapngOptionLE()
    file.write(bytes(pcapng.SectionHeaderBlockLE()))
    interfaces: dict[int, int] = {}
    for record in records:
        if record.link_type not in interfaces:
            interfaces[record.link_type] = len(interfaces)
            resolution = pcapng.PcapngOptionLE(code=pcapng.PCAPNG_OPT_IF_TSRESOL, data=_NANOSECONDS)
            file.write(bytes(pcapng.InterfaceDescriptionBlockLE(linktype=record.link_type, opts=[resolution, end])))
        time_ns = max(record.time_ns or 0, 0)
        file.write(
            bytes(
                pcapng.EnhancedPacketBlockLE(
                    iface_id=interfaces[record.link_type],
                    ts_high=time_ns >> 32,
                    ts_low=time_ns & 0xFFFFFFFF,
                    caplen=len(record.data),
                    pkt_len=record.wire_bytes,
                    pkt_data=record.data,
                    opts=[comment(f"packet {record.packet}. {comments[record.packet]}"), end],
                )
            )
        )
