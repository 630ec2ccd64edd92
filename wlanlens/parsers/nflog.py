"""NFLOG: IP packets with attributes of Linux's netfilter.

`tcpdump -i nflog` writes it, where a firewall rule logs packets."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("nflog", __name__, __doc__, linktypes=(239,), tables=IP_TABLES)
