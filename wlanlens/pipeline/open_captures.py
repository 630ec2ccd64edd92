"""`open_captures`: the captures of one trace, by path or by capture point."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wlanlens.capture import decryption_keys
from wlanlens.capture.capture import CAPTURE_POINTS, Capture
from wlanlens.capture.capture import open as open_capture
from wlanlens.capture.distinct_names import set_distinct_names
from wlanlens.capture.reader_thread import READERS
from wlanlens.errors import AlignmentError, WrongUse, did_you_mean
from wlanlens.formatting import printable

if TYPE_CHECKING:
    from wlanlens.capture.decryption_keys import Keys
    from wlanlens.capture.reader_thread import Feed

AnyPath = str | bytes | os.PathLike[Any]


def open_captures(
    captures: Sequence[AnyPath | Capture] | AnyPath,
    *,
    roles: Mapping[str, AnyPath] | None = None,
    keys: Keys | Iterable[str] | None = None,
) -> list[Capture]:
    """Open the captures of one trace; the parameters are those of `align`."""
    chosen: list[AnyPath | Capture] = (
        [captures] if isinstance(captures, str | bytes | os.PathLike | Capture) else list(captures)
    )
    known = decryption_keys.of(keys)
    opened = [c if isinstance(c, Capture) else open_capture(c, keys=known) for c in chosen]
    for role, path in (roles or {}).items():
        if role not in CAPTURE_POINTS:
            hint = did_you_mean(str(role), CAPTURE_POINTS, f"capture points are {', '.join(CAPTURE_POINTS)}")
            raise WrongUse(f"unknown capture point {role!r}", next=hint)
        same = [c for c in opened if os.fsencode(c.raw_path) == os.fsencode(path)]
        if same:
            same[0].point = role
        else:
            opened.append(open_capture(path, point=role, keys=known))
    if not opened:
        raise AlignmentError("there is no capture to align")
    return _without_empty(opened)


def _without_empty(captures: list[Capture]) -> list[Capture]:
    """The captures of several that hold a record; the others are left out, with a note."""
    empty = [c for c in captures if c.path != "-" and len(captures) > 1 and not c.records([1])]
    kept = [c for c in captures if c not in empty] or captures[:1]
    for capture in empty:
        if capture not in kept:
            why = f"{printable(capture.name)} contains no packets: it is left out."
            kept[0].add_note("capture_left_out", "loss", 1, why)
    return kept


def begin_feeds(captures: Sequence[Capture]) -> dict[int, Feed]:
    """The feeds of the first captures by their number, which are read while Python imports what judges them."""
    if len(captures) == 1:
        feeds = {0: captures[0].feed(open_flows=True)}
    else:
        # A batch has the name of its capture.
        set_distinct_names(captures)
        feeds = {n: capture.feed() for n, capture in enumerate(captures[:READERS]) if not capture.loaded}
    for feed in feeds.values():
        feed.begin()
    return feeds
