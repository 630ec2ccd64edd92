"""802.11 frames: bare, or with a radiotap, Prism, AVS or PPI header.

Every frame is a row of `frames`, whatever its type. It has the MAC header, and what the radio header says of PHY, rate,
MCS, streams, width, guard interval, signal, noise, antenna and clock. All of radiotap is read, with HE, U-SIG and EHT.
The frame check sequence is verified; where the capture does not announce one, it is found by its value.

IP packets inside data frames are rows of `packets` if the frame is open or if a given key decrypts it (WEP, TKIP, CCMP);
QoS and A-MSDU are read. Each MSDU, with all its transmissions, is a row of `exchanges`. Sub-gigahertz (802.11ah) and
60 GHz (802.11ad) PHYs are not decoded: their rate is null."""

from wlanlens.registry import IP_TABLES, LinkType

unit = LinkType(
    "wlan", __name__, __doc__, linktypes=(105, 119, 127, 163, 192), tables=(*IP_TABLES, "frames", "exchanges")
)
