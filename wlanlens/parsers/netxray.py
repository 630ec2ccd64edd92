"""NetXRay and Windows Sniffer (`.cap`): old NetXRay, versions 1.0, 1.1 and 2.000 to 2.003.

Ethernet, 802.11, PPP and Cisco HDLC are read; other link types are refused by name. A record of an 802.11 frame has its
channel and rate. Its signal and noise are percentages on the adapter's own scale, so they give no dBm. The records of a
ring buffer are sorted by time. The format was never published: the facts are from Wireshark's wiretap."""

from functools import partial

from wlanlens import _core
from wlanlens.registry import Container

unit = Container(
    "netxray",
    __name__,
    __doc__,
    clock="milliseconds, microseconds or ticks of the card or pod (20 ns to 0.84 us), from a start in whole seconds UTC",
    sniff=partial(_core.is_format, "netxray"),
    read=partial(_core.read_format, "netxray"),
    linktypes=(1, 9, 104, 105),
)
