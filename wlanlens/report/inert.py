"""Safe output: text from a capture cannot end a <script> element or start another."""

from __future__ import annotations

import json
import re
from typing import Any

from markupsafe import Markup, escape

from wlanlens.formatting import printable

TEXT_LIMIT = 20_000
"""Characters of one text shown: a filter of 200 packet numbers has about 2 000."""

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


_UNIT = re.compile(r"(?<=[0-9]) (?=(?:%|[kMG]?bit/s|[kMGT]?B|[num]?s|dBm|ppm)(?![A-Za-z]))")


def unbroken(text: str) -> str:
    """A sentence in which no line ends between a number and its unit."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", text)


def with_code(text: str) -> Markup:
    """Text whose parts between backticks are code; all of it is escaped."""
    parts = [escape(shown(part)) for part in text.split("`")]
    if len(parts) % 2 == 0:
        return Markup("`").join(parts)
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(parts))


def as_clause(text: str) -> str:
    """A sentence as a part of another: no capital at its start, no full stop at its end."""
    text = text.removesuffix(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def shown(value: Any) -> Any:
    """A value for a template: strings with invisible characters escaped, other values unchanged."""
    return printable(value, TEXT_LIMIT) if isinstance(value, str) and not isinstance(value, Markup) else value


def embedded(value: Any) -> Markup:
    """JSON that is inert between <script> and </script>; its strings are escaped as in a template."""
    text = json.dumps(_shown_all(value), separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return Markup(text.translate(_ESCAPES))  # noqa: S704  escaped by translate


def _shown_all(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shown_all(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shown_all(item) for item in value]
    return shown(value)
