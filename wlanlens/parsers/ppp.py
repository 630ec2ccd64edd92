"""PPP, with or without HDLC framing, Cisco HDLC, PPPoE."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("ppp", __name__, __doc__, linktypes=(9, 50, 51, 104, 204), tables=IP_TABLES)
