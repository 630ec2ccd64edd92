"""pcapng with any number of sections and interfaces, any time resolution and offset.

Enhanced, simple and obsolete packet blocks, interface statistics, comments. Blocks that hold no packets are skipped and
counted; decryption secrets are never copied to any output. Format: draft-ietf-opsawg-pcapng."""

from wlanlens.registry import Container

unit = Container(
    "pcapng", __name__, __doc__, clock="per interface: any resolution and offset (if_tsresol, if_tsoffset)"
)
