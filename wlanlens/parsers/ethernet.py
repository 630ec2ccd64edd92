"""Ethernet: II and 802.3 with LLC/SNAP, VLAN and QinQ tags, PPPoE, MPLS.

tcpdump writes it on a host's wired interface, and on most wireless interfaces."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("ethernet", __name__, __doc__, linktypes=(1,), tables=IP_TABLES)
