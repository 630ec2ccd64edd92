"""802.11 frames: bare, or behind radiotap, Prism, AVS or PPI headers.

Every frame is a row of `frames`, whatever its type: the MAC header, what the radio header says of its PHY, rate, MCS,
streams, width, guard interval, signal, noise, antenna and clock (radiotap wholly, HE, U-SIG and EHT included), and
whether its frame check sequence was right. A check sequence that nobody announces is found by its value. IP packets
inside data frames that are open, or that a key given decrypts (WEP, TKIP, CCMP), QoS and A-MSDU included, are rows of
`packets`; the life of each MSDU is one of
`exchanges`. Sub-gigahertz (802.11ah) and 60 GHz (802.11ad) PHYs are not decoded: their rate is null."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType("wlan", __name__, __doc__, dlt=(105, 119, 127, 163, 192), tables=(*IP_TABLES, "frames", "exchanges"))
