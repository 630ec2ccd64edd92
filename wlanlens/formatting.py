"""Text for people: strings of a capture made safe to show on a terminal, and numbers with their unit."""

from __future__ import annotations

import unicodedata

# Control (C0, DEL, C1), format (bidi marks and overrides, zero width, soft hyphen, tags), surrogates, private use,
# unassigned, line and paragraph separators: everything that moves the cursor, hides itself or turns the line around.
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

#: Combining marks in a row that are shown; more would climb over other lines.
_MARKS = 4


def printable(text: str | bytes, limit: int = 500) -> str:
    r"""`text` with all but visible characters and the space escaped as \xNN or \uNNNN, cut to `limit` characters."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    out = []
    marks = 0
    for char in text[:limit]:
        category = unicodedata.category(char)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if category in _UNSAFE or marks > _MARKS:
            code = ord(char)
            out.append(f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
        else:
            out.append(char)
    return "".join(out) + ("..." if len(text) > limit else "")


def share(ns: int, life: int) -> str:
    """ "1.56 s (30 %)"."""
    return f"{seconds(ns)} ({100 * ns / life:.0f} %)" if life else seconds(ns)


def seconds(ns: int) -> str:
    """A length of time with three significant digits and a fitting unit."""
    if ns < 1_000_000:
        return f"{ns / 1e3:.3g} us"
    if ns < 1_000_000_000:
        return f"{ns / 1e6:.3g} ms"
    if ns < 100_000_000_000:
        return f"{ns / 1e9:.3g} s"
    return f"{ns / 1e9:.0f} s"


def count(number: int, noun: str, plural: str = "") -> str:
    """ "1 packet", "2 packets"; `plural` where it is not the noun with an s."""
    return f"{int(number)} {noun if number == 1 else plural or noun + 's'}"


def duration(value_s: float) -> str:
    """A length of time with three significant digits and a fitting unit: "12.3 ms"."""
    s = float(value_s)
    if abs(s) < 1e-3:
        return f"{s * 1e6:.3g} us"
    if abs(s) < 1.0:
        return f"{s * 1e3:.3g} ms"
    return f"{s:.3g} s" if abs(s) < 100 else f"{s:.0f} s"


def moment(t_ns: int) -> str:
    """A time on the trace's axis: "t = 1.324 s"."""
    return f"t = {int(t_ns) / 1e9:.3f} s"


def bit_rate(bits_per_s: float) -> str:
    """A rate with three significant digits: "4.46 Mbit/s"."""
    for unit, scale in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits_per_s >= scale:
            return f"{bits_per_s / scale:.3g} {unit}"
    return f"{bits_per_s:.3g} bit/s"


def size(number: int) -> str:
    """ "812 bytes", "1.57 MB": decimal units, three digits."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= 0.9995 * scale:
            return f"{number / scale:.3g} {unit}"
    return count(number, "byte")
