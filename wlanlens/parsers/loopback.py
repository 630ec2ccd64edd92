"""BSD loopback: an address family before each packet."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("loopback", __name__, __doc__, linktypes=(0, 108), tables=IP_TABLES)
