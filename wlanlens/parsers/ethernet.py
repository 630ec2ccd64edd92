"""Ethernet: II and 802.3 with LLC/SNAP, VLAN and QinQ tags, PPPoE, MPLS.

What tcpdump writes on a host's wired interface, and on most wireless ones."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("ethernet", __name__, __doc__, dlt=(1,), tables=IP_TABLES)
