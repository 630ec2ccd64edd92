"""pcap of any 2.x version, both byte orders, micro- and nanoseconds, modified (Kuznetzov) records.

Recognised by its magic number. Compressed files (gzip, zstd, lz4) are read as they stand.
Format: draft-ietf-opsawg-pcap.
"""

from wlanlens.registry import Container

unit = Container("pcap", __name__, __doc__, clock="microseconds or nanoseconds since 1970 in the tap's clock")
