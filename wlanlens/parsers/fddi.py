"""FDDI: LLC frames on a fibre ring.

Old backbone captures have it."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("fddi", __name__, __doc__, linktypes=(10,), tables=IP_TABLES)
