"""NetXRay and Windows Sniffer (`.cap`): old NetXRay, versions 1.0, 1.1 and 2.000 to 2.003.

Ethernet, 802.11, PPP and Cisco HDLC; other link types are named and refused. Of an 802.11 frame the record tells channel and
rate; its signal and noise are percentages of a scale of the adapter's own and give no dBm. A file that was a ring comes in
order of time. The format was never published: the facts are those that Wireshark's wiretap gathered."""

from wlanlens.registry import Container

unit = Container(
    "netxray",
    __name__,
    __doc__,
    clock="milliseconds, microseconds or ticks of the card or pod (20 ns to 0.84 us), from a start in whole seconds UTC",
)
