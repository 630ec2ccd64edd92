"""The frames of the figure of the air as the page stores them, and the choices of the reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import formatting
from wlanlens.plots._air_rows import DATA, MANAGEMENT, PER_ROW, SIGNALLING, is_group
from wlanlens.plots._airtime import names, shares_over_time
from wlanlens.plots._palette import STATIONS, USES
from wlanlens.report import encode

if TYPE_CHECKING:
    from wlanlens.plots._air_rows import AirRows
    from wlanlens.trace import Trace

MOST_PAIRS = 500
"""Pairs of stations distinguished in the figure."""

MOST_CHOICES = 40
"""Pairs to choose from: a longer list does not fit a screen."""

MOST_SLICES = 1024
"""Slices of time: a screen has no room for more."""


@dataclass(frozen=True)
class AirView:
    """The figure of the air."""

    rows: int
    choices: list[dict[str, Any]]
    pairs: list[dict[str, str]]
    subtypes: tuple[str, ...]
    packed: str
    """The columns, as `encode.columns` packs them."""

    def page(self, file: str | None) -> dict[str, Any]:
        """Data for the page's script besides the columns."""
        return {
            "file": file,
            "views": self.choices,
            "pairs": self.pairs,
            "subtypes": list(self.subtypes),
            "uses": [{"title": use.title, "colour": use.colour} for use in USES.values()],
            "colours": [list(pair) for pair in STATIONS],
        }


def air_view(trace: Trace, rows: AirRows) -> AirView | None:
    """Pack the frames of a trace; None if there is nothing to draw."""
    start_s, shares = shares_over_time(trace, MOST_SLICES)
    if not len(rows) and not len(start_s):
        return None
    width_ns = round((start_s[1] - start_s[0]) * 1e9) if len(start_s) > 1 else max(1, trace.duration_ns)
    starts = np.rint(start_s * 1e9).astype(np.int64)
    ends = [min(starts[-1] + width_ns * 3 // 2, max(trace.duration_ns, starts[-1] + 1))] if len(starts) else []
    columns = {
        _STORED.get(name, name): getattr(rows, name).astype(np.int64) for name in PER_ROW if name not in _LEFT_OUT
    }
    columns["result"] = rows.retry.astype(np.int64) + 2 * rows.dropped.astype(np.int64)
    columns["pair"] = np.minimum(rows.pair, MOST_PAIRS)
    columns["slice_start"] = np.concatenate((starts, np.array(ends, np.int64)))
    for i, group in enumerate(USES):
        # Hundredths of a percent.
        columns[f"share_{i}"] = np.rint(100 * shares[group]).astype(np.int64)
    networks = names(trace)
    pairs = [{"sender": _named(a, networks), "receiver": _named(b, networks)} for a, b in rows.pairs[:MOST_PAIRS]]
    others = [{"sender": "others", "receiver": "others"}] if len(rows.pairs) > MOST_PAIRS else []
    return AirView(len(rows), _choices(rows, pairs), pairs + others, rows.subtypes, encode.columns(columns))


_STORED = {"t_ns": "t"}
_RESULT_BITS = ("retry", "dropped")
_LEFT_OUT = (*_RESULT_BITS, "noise_dbm")


def _named(address: str, networks: dict[str, str]) -> str:
    if is_group(address):
        return "all stations" if address == "ff:ff:ff:ff:ff:ff" else f"group {address}"
    network = networks.get(address)
    return f"{address} ({network})" if network else address


def _choices(rows: AirRows, pairs: list[dict[str, str]]) -> list[dict[str, Any]]:
    """The reader's choices: kinds of frames of all stations, then pairs."""
    counts = np.bincount(rows.kind, minlength=3).tolist()
    kinds = [("data frames of all stations", [DATA]), ("management frames of all stations", [MANAGEMENT])]
    out = [
        {"name": f"{name} ({formatting.page_count(counts[which[0]])})", "kinds": which, "pair": None}
        for name, which in kinds
        if counts[which[0]]
    ]
    everything = [DATA, MANAGEMENT, SIGNALLING]
    if max(counts[DATA], counts[MANAGEMENT]) < len(rows):
        name = f"frames of all kinds ({formatting.page_count(len(rows))})"
        out.append({"name": name, "kinds": everything, "pair": None})
    of = [DATA] if counts[DATA] else everything
    per_pair = np.bincount(rows.pair[np.isin(rows.kind, of)], minlength=len(rows.pairs))[:MOST_PAIRS]
    for i in np.argsort(-per_pair, kind="stable")[:MOST_CHOICES].tolist():
        if per_pair[i]:
            name = f"{pairs[i]['sender']} > {pairs[i]['receiver']} ({formatting.page_count(int(per_pair[i]))})"
            out.append({"name": name, "kinds": of, "pair": i})
    return out
