"""USB as the host's driver sees it: usbmon with 48- and 64-byte headers, USBPcap.

Every transfer is a row of `urbs`. IP packets inside bulk transfers go on to `packets`: CDC-ECM, NCM and MBIM, RNDIS, the
headers of ASIX, Realtek and Prism 2 adapters, QMAP, bare IP; in other framings an IP header is searched for."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("usb", __name__, __doc__, dlt=(189, 220, 249), tables=("urbs", *IP_TABLES))
