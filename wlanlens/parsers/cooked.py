"""Linux cooked capture, versions 1 and 2.

`tcpdump -i any` writes it."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("cooked", __name__, __doc__, linktypes=(113, 276), tables=IP_TABLES)
