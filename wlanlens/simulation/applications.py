"""Applications: what a client and a server write, in the simulator's format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def bulk() -> dict[str, Any]:
    """Application: the client sends until the end."""
    return {"kind": "bulk"}


#: Bytes of a transfer: a number, or a draw by `pareto`.
Size = int | Mapping[str, Any]


def file(size_bytes: Size, *, closes: bool = True) -> dict[str, Any]:
    """Application: the client sends `size_bytes` and then closes, unless `closes` is false."""
    return {"kind": "file", "bytes": size_bytes, "closes": closes}


def request(request_bytes: int, answer_bytes: Size, *, closes: bool = True) -> dict[str, Any]:
    """Application: the client sends a request and the server sends an answer: a download."""
    return {"kind": "request", "request_bytes": request_bytes, "answer_bytes": answer_bytes, "closes": closes}


def pareto(mean_bytes: float, shape: float, *, number: int = 0, of: int = 0, unit_bytes: int = 1) -> Size:
    """A size with a heavy tail, in whole multiples of `unit_bytes`.

    `number` of `of`: one size of a set with exactly the distribution's mean; the seed only orders the set. Without `of` each
    size is drawn independently.
    """
    return {"mean_bytes": mean_bytes, "shape": shape, "number": number, "of": of, "unit_bytes": unit_bytes}


def paced(size_bytes: int, every_s: float) -> dict[str, Any]:
    """Application: the client writes `size_bytes` every `every_s` seconds."""
    return {"kind": "paced", "bytes": size_bytes, "every_s": every_s}


def udp(rate_bps: float, payload_bytes: int = 1472) -> dict[str, Any]:
    """Application: the client sends datagrams at a constant payload rate."""
    return {"kind": "udp", "payload_bytes": payload_bytes, "rate_bps": rate_bps}
