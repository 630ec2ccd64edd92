"""The page's Content-Security-Policy: it loads nothing from a network and runs no foreign script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable


def digest(script: str) -> str:
    """CSP source of one inline script, by its content."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def policy(scripts: Iterable[str], *, spilled: bool) -> str:
    """The policy for a page with these scripts, each as `digest` says it.

    `spilled`: some data is in files next to the page. Browsers cannot check integrity hashes on file: URLs (their origin
    is opaque), so 'self' and file: allow the folder of the page; no network source is allowed.
    """
    sources = list(scripts)
    if spilled:
        sources += ["'self'", "file:"]
    return "; ".join(
        (
            "default-src 'none'",
            "script-src " + (" ".join(sources) or "'none'"),
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
