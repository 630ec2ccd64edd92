"""pcapng with any number of sections and interfaces, any time resolution and offset.

Enhanced, simple and obsolete packet blocks, interface statistics and comments are read. Blocks without packets are
skipped and counted. Decryption secrets are never copied to any output. Format: draft-ietf-opsawg-pcapng."""

from functools import partial

from wlanlens import _core
from wlanlens.registry import Container

unit = Container(
    "pcapng",
    __name__,
    __doc__,
    clock="per interface: any resolution and offset (if_tsresol, if_tsoffset)",
    sniff=partial(_core.is_format, "pcapng"),
    read=partial(_core.read_format, "pcapng"),
)
