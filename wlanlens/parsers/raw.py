"""IPv4 and IPv6 packets with nothing before them.

What tunnels and virtual interfaces give."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("raw", __name__, __doc__, dlt=(12, 14, 101, 228, 229), tables=IP_TABLES)
