"""The folder of each trace, and which shard analyses it."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable

from wlanlens.errors import WrongUse

#: Characters of a folder's name besides letters and digits.
_PLAIN = "._-=+@,# "
#: Longest readable part, in bytes: a file name has at most 255.
_MOST_BYTES = 120


def run_names(traces: Iterable[str]) -> dict[str, str]:
    """The folder name of each trace: readable, valid on every file system, and different for each.

    `/` becomes `__`. A name with other characters than letters, digits and `._-=+@,#` gets `_` in their place and a hash of
    the whole name behind it; so do names that are equal to another but for their case.
    """
    names = {trace: _readable(trace) for trace in traces}
    alike = Counter(name.casefold() for name in names.values())
    return {
        trace: _hashed(trace, name) if alike[name.casefold()] > 1 else name for trace, name in sorted(names.items())
    }


def _readable(trace: str) -> str:
    name = trace.replace("/", "__")
    plain = "".join(c if c.isalnum() or c in _PLAIN else "_" for c in name)
    changed = "__" in trace or plain != name or plain != plain.strip(" .") or plain.startswith("-")
    return _hashed(trace, plain) if changed or len(plain.encode()) > _MOST_BYTES else plain


def _hashed(trace: str, name: str) -> str:
    short = name.encode()[:_MOST_BYTES].decode(errors="ignore").strip(" .-") or "trace"
    return f"{short}-{_digest(trace)[:12]}"


def _digest(trace: str) -> str:
    return hashlib.sha256(os.fsencode(trace)).hexdigest()


def shard(text: str) -> tuple[int, int]:
    """The shard of "3/64": (3, 64), counted from 1."""
    number, slash, count = text.partition("/")
    if slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise WrongUse(f"{text!r} is no shard", next="for example 3/64: the third of 64, from 1 to 64")


def in_shard(trace: str, number: int, count: int) -> bool:
    """Whether a trace is of a shard. By a hash of its name, so that it does not depend on the other traces."""
    return int(_digest(trace)[:15], 16) % count == number - 1
