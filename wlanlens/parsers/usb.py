"""USB transfers as the host's driver sees them: usbmon with headers of 48 and 64 bytes, and USBPcap.

Every transfer is a row of `urbs`. IP packets inside bulk transfers are rows of `packets`. These framings are known:
CDC-ECM, NCM and MBIM, RNDIS, the headers of ASIX, Realtek and Prism 2 adapters, QMAP, and bare IP. In other framings
the core searches for an IP header."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("usb", __name__, __doc__, linktypes=(189, 220, 249), tables=("urbs", *IP_TABLES))
