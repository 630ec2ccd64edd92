"""The page's Content-Security-Policy: the proof that nothing leaves it and nothing foreign runs in it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable


def digest(script: str) -> str:
    """CSP source of one inline script, by its content."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def policy(scripts: Iterable[str], *, spilled: bool) -> str:
    """The policy for a page with these scripts.

    `spilled`: data lies in files beside the page. An integrity hash cannot be checked on a file: URL (its origin is
    opaque), so the page's own folder is allowed by 'self' and file:, and nothing on any network is.
    """
    sources = [digest(script) for script in scripts]
    if spilled:
        sources += ["file:"]
    return "; ".join(
        (
            "default-src 'none'",
            "script-src " + " ".join(sources),
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
