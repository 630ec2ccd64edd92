"""802.11 frames: bare, or behind radiotap, Prism, AVS or PPI headers.

IP packets inside data frames that are open, or that a key given decrypts (WEP, TKIP, CCMP), QoS and A-MSDU included. Management and control frames are
counted as records without a row."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("wlan", __name__, __doc__, dlt=(105, 119, 127, 163, 192), tables=IP_TABLES)
