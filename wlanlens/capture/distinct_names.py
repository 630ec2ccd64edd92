"""Names that tell the captures of one trace apart."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from wlanlens.errors import AlignmentError
from wlanlens.formatting import printable

if TYPE_CHECKING:
    from wlanlens.capture.capture import Capture


def set_distinct_names(captures: Sequence[Capture]) -> None:
    """Number captures that have the same name; `AlignmentError` when a file or a copy of it was given twice."""
    for a, b in combinations(captures, 2):
        if "-" in (a.path, b.path):
            continue
        if os.path.samefile(a.raw_path, b.raw_path):
            raise AlignmentError(f"{printable(a.name)} was given twice", next="name each capture once")
        if a.size_bytes() == b.size_bytes() is not None and filecmp.cmp(a.raw_path, b.raw_path, shallow=False):
            raise AlignmentError(
                f"{printable(a.name)} and {printable(b.name)} are the same bytes",
                next="they are copies of one capture: give it once",
            )
    names = [capture.name for capture in captures]
    for number, capture in enumerate(captures):
        if names.count(capture.name) > 1:
            # The name identifies the capture of a row.
            capture.name = f"{number + 1}:{capture.name}"
