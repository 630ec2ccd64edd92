"""pcap of any 2.x version, both byte orders, micro- and nanoseconds, modified (Kuznetzov) records.

It is recognised by its magic number. Compressed files (gzip, zstd, lz4) are read without unpacking.
Format: draft-ietf-opsawg-pcap."""

from functools import partial

from wlanlens import _core
from wlanlens.registry import Container

unit = Container(
    "pcap",
    __name__,
    __doc__,
    clock="microseconds or nanoseconds since 1970 in the clock of the capturing host",
    sniff=partial(_core.is_format, "pcap"),
    read=partial(_core.read_format, "pcap"),
)
