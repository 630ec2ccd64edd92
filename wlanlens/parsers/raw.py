"""IPv4 and IPv6 packets without a link-layer header.

Tunnels and virtual interfaces give them."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("raw", __name__, __doc__, linktypes=(12, 14, 101, 228, 229), tables=IP_TABLES)
