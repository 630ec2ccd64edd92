"""The accepted figures of each machine: results.json, and the page RESULTS.md that is made of it."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from figures import Figure
from measure import Cost

HERE = Path(__file__).resolve().parent
STORED, PAGE = HERE / "results.json", HERE / "RESULTS.md"

#: A figure is worse when its ratio is greater than the accepted one by more than this.
TOLERANCE = 0.15

_HEAD = """# Accepted figures of `make bench`

`make bench-accept` writes this page and results.json; `make bench` prints today's figures beside those of the same processor and
fails when a ratio is more than {tolerance:.0%} worse. On a processor without accepted figures it takes those accepted last. A ratio is the
cost relative to a peer's by the same clock in the same run, of radiotap and usbmon relative to tcptrace on a million packets: less is
better. Each cost is the least of several interleaved runs. Without a peer the figure itself is compared.
"""

_TABLE = """
## {where}

{note}

| figure | value | floor | peer | ratio to the peer |
|---|---:|---:|---|---:|
"""


@dataclass(frozen=True)
class Entry:
    """One figure as it was measured."""

    label: str
    value: float
    shown: str
    floor: str
    peer: str
    ratio: float | None


def entry(figure: Figure, taken: Mapping[str, Cost]) -> Entry:
    """A figure of these costs."""
    value, ratio = figure.value(taken), figure.ratio(taken)
    peer = next(iter(figure.peer)).split()[0] if figure.peer and ratio is not None else ""
    return Entry(figure.label, value, shown(figure, value), floor(figure), peer, ratio)


def shown(figure: Figure, value: float) -> str:
    """A value with its unit."""
    unit = {"times": "x"}.get(figure.form, figure.form)
    return f"{value:.{0 if figure.form == 'MB' else 2}f} {unit}"


def floor(figure: Figure) -> str:
    """The floor in words; empty if there is none."""
    if figure.floor is None:
        return ""
    low, high = figure.floor
    if high == float("inf"):
        return f">= {low:g}"
    return f"{low:g} to {high:g}" if low else f"<= {high:g}"


@dataclass(frozen=True)
class Accepted:
    """The accepted figures of a machine; `where`: which one, "" for none."""

    where: str
    ratios: Mapping[str, float]


def load() -> Accepted:
    """Those of this machine, or else those accepted last."""
    held = _stored()
    if not held:
        return Accepted("", {})
    where = machine() if machine() in held else next(reversed(held))
    rows = held[where]["figures"]
    return Accepted(where, {key: row["ratio"] for key, row in rows.items() if row["ratio"] is not None})


def worse(entries: Mapping[str, Entry], accepted: Accepted) -> list[str]:
    """One sentence for each figure that is worse than accepted."""
    out = []
    for key, now in entries.items():
        before = accepted.ratios.get(key)
        if now.ratio is not None and before is not None and now.ratio > before + TOLERANCE * abs(before):
            out.append(
                f"{now.label} ({key}): ratio {now.ratio:.2f}, accepted {before:.2f}: {now.ratio / before - 1:.0%} worse"
            )
    return out


def accept(entries: Mapping[str, Entry], note: str) -> None:
    """Write results.json and RESULTS.md anew. Figures of other machines stay, and those of this one that were not measured now."""
    held = _stored()
    before = held.pop(machine(), {"figures": {}})
    rows = {**before["figures"], **{key: asdict(now) for key, now in entries.items()}}
    held[machine()] = {"note": note, "figures": rows}
    STORED.write_text(json.dumps(held, indent=1) + "\n")
    PAGE.write_text(page(held))


def page(held: Mapping[str, Any]) -> str:
    """RESULTS.md: a table of each machine, the one accepted last first."""
    parts = [_HEAD.format(tolerance=TOLERANCE)]
    for where, accepted in reversed(held.items()):
        parts.append(_TABLE.format(where=where, note=accepted["note"]))
        for row in accepted["figures"].values():
            ratio = "" if not row["peer"] else f"{row['ratio']:.2f}"
            parts.append(f"| {row['label']} | {row['shown']} | {row['floor']} | {row['peer']} | {ratio} |\n")
    return "".join(parts)


def machine() -> str:
    """The machine without its name: processor and cores."""
    model = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores"


def _stored() -> dict[str, Any]:
    """By machine, the one accepted last at the end: `note`, and `figures` by key."""
    return dict(json.loads(STORED.read_text())) if STORED.exists() else {}


def table(entries: Mapping[str, Entry], held: Mapping[str, bool], accepted: Accepted) -> Sequence[str]:
    """The lines of the table on the terminal."""
    lines = [f"{'':62}{'today':>12}{'floor':>12}  {'peer':10}{'ratio':>8}{'accepted':>10}"]
    for key, now in entries.items():
        ratio = "" if now.ratio is None else f"{now.ratio:.2f}"
        before = f"{accepted.ratios[key]:.2f}" if key in accepted.ratios else ""
        missed = "" if held[key] else "  misses its floor"
        lines.append(f"{now.label:62}{now.shown:>12}{now.floor:>12}  {now.peer:10}{ratio:>8}{before:>10}{missed}")
    return lines
