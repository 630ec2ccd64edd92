"""DOS Sniffer (`.enc`, `.trc`, `.syc`), plain or compressed by the Sniffer.

Ethernet, PPP and Cisco HDLC are read; other link types are refused by name. The kind of a serial line is known from the
record that states it, or from the frame. A damaged block of a compressed file costs the records in it. Sources: the
Expert Sniffer Network Analyzer Operations manual 5.50, and Wireshark's wiretap."""

from functools import partial

from wlanlens import _core
from wlanlens.registry import Container

unit = Container(
    "sniffer",
    __name__,
    __doc__,
    clock="ticks of 0.1 to 15 us from local midnight; the file does not give the time zone, and UTC is assumed",
    sniff=partial(_core.is_format, "sniffer"),
    read=partial(_core.read_format, "sniffer"),
    linktypes=(1, 9, 104),
)
