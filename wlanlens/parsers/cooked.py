"""Linux cooked capture, versions 1 and 2.

What `tcpdump -i any` writes."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("cooked", __name__, __doc__, dlt=(113, 276), tables=IP_TABLES)
