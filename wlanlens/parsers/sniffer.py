"""DOS Sniffer (`.enc`, `.trc`, `.syc`), plain or compressed by the Sniffer.

Ethernet, PPP and Cisco HDLC; other link types are named and refused. What kind of serial line it was comes from the record
that says so, or from the frame. Damaged blocks of a compressed file cost the records that they hold. Sources: the Expert
Sniffer Network Analyzer Operations manual 5.50, and the facts that Wireshark's wiretap gathered."""

from wlanlens.registry import Container

unit = Container(
    "sniffer",
    __name__,
    __doc__,
    clock="ticks of 0.1 to 15 us from midnight where the capture was taken; the zone is not told and UTC is assumed",
)
