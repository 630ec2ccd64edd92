"""Applications: what a client and a server write, as the simulator reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def bulk() -> dict[str, Any]:
    """Application: the client sends until the end."""
    return {"kind": "bulk"}


#: Bytes of a transfer: a number, or a draw by `pareto`.
Size = int | Mapping[str, Any]


def file(size_bytes: Size, *, closes: bool = True) -> dict[str, Any]:
    """Application: the client sends so much and, unless told otherwise, closes."""
    return {"kind": "file", "bytes": size_bytes, "closes": closes}


def request(request_bytes: int, answer_bytes: Size, *, closes: bool = True) -> dict[str, Any]:
    """Application: the client asks in so many bytes, the server answers with so many: a download."""
    return {"kind": "request", "request_bytes": request_bytes, "answer_bytes": answer_bytes, "closes": closes}


def pareto(mean_bytes: float, shape: float, *, number: int = 0, of: int = 0, unit_bytes: int = 1) -> Size:
    """A size with a heavy tail, in whole multiples of `unit_bytes`.

    `number` of `of`: one of a set that has exactly the distribution's mean and that the seed only orders; without
    `of` an independent draw.
    """
    return {"mean_bytes": mean_bytes, "shape": shape, "number": number, "of": of, "unit_bytes": unit_bytes}


def paced(size_bytes: int, every_s: float) -> dict[str, Any]:
    """Application: the client writes so much, so often."""
    return {"kind": "paced", "bytes": size_bytes, "every_s": every_s}


def udp(rate_bps: float, payload_bytes: int = 1472) -> dict[str, Any]:
    """Application: datagrams of the client at a constant rate of payload."""
    return {"kind": "udp", "payload_bytes": payload_bytes, "rate_bps": rate_bps}
