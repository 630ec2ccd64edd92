"""Text for people: strings of a capture made safe to show, and numbers with their unit.

Sentences and the terminal use plain spaces and ASCII units; the report's page (`page_...`) uses narrow spaces and
groups thousands. report/units.js is the browser's twin of the page functions; a test compares the two.
"""

from __future__ import annotations

import datetime
import html
import unicodedata
from collections.abc import Iterable, Sequence

# Control (C0, DEL, C1), format (bidi marks and overrides, zero width, soft hyphen, tags), surrogates, private use,
# unassigned, line and paragraph separators: everything that moves the cursor, is invisible or reverses the line.
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

#: Combining marks shown in a row; more would cover other lines.
_MARKS = 4


def printable(text: str | bytes, limit: int = 500) -> str:
    r"""`text` with all but visible characters and the space escaped as \xNN or \uNNNN, cut to `limit` characters or a few less."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    out = []
    marks = 0
    for char in cut(text, limit):
        category = unicodedata.category(char)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if category in _UNSAFE or marks > _MARKS:
            code = ord(char)
            out.append(f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
        else:
            out.append(char)
    return "".join(out) + ("..." if len(text) > limit else "")


def cut(text: str, limit: int) -> str:
    """The first `limit` characters, or less, so that no word is cut in two; a longer word is."""
    if len(text) <= limit or text[limit] == " ":
        return text[:limit]
    head = text[:limit].rpartition(" ")[0]
    return head if len(head) >= limit // 2 else text[:limit]


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """A table for a notebook; every text is escaped."""
    body = "".join("<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    head = "".join(f"<th>{_escaped(name)}</th>" for name in heads)
    more = f"<p>{_escaped(note)}</p>" if note else ""
    style = ' style="text-align: left; font-weight: bold"'
    return (
        f"<table><caption{style}>{_escaped(caption)}</caption>"
        + (f"<thead><tr>{head}</tr></thead>" if head else "")
        + f"<tbody>{body}</tbody></table>{more}"
    )


def _escaped(value: object) -> str:
    return html.escape("" if value is None else printable(str(value), limit=2000))


def inert_cell(value: object) -> str:
    """A cell of CSV: its text is inert in a spreadsheet and on a terminal."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return printable(str(value), limit=10_000)
    text = printable(value, limit=10_000)
    return "'" + text if value[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def share(ns: int, life: int) -> str:
    """ "1.56 s (30 %)"."""
    return f"{seconds(ns)} ({100 * ns / life:.0f} %)" if life else seconds(ns)


def seconds(ns: int) -> str:
    """A duration with three significant digits, in the unit that fits."""
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


def times(number: int) -> str:
    """ "once", "twice", "3 times"."""
    return {1: "once", 2: "twice"}.get(int(number), f"{int(number)} times")


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


def hundredths(value_s: float) -> str:
    """Seconds of a column on the terminal: two decimal places."""
    return f"{value_s:.2f} s"


def percent(part: int, whole: int) -> str:
    """A share in percent; a share above zero never reads as 0 %."""
    value = 100 * part / whole if whole else 0.0
    return f"{value:.0f} %" if value >= 9.95 or not part else f"{value:.1f} %" if value >= 0.05 else "<0.1 %"


def listed(parts: list[str]) -> str:
    """ "a, b and c"."""
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)


def utc(time_ns: int, digits: int = 9) -> str:
    """ "2024-05-06 07:08:09.012345678 UTC", cut to `digits` of a second.

    Raises
    ------
    OverflowError, ValueError, OSError
        A time that no calendar of this machine reaches.
    """
    second, rest = divmod(time_ns, 1_000_000_000)
    at = datetime.datetime.fromtimestamp(second, datetime.UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}.{rest // 10 ** (9 - digits):0{digits}} UTC"


THIN = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
#: Shown where a value is not known.
MISSING = "\N{EM DASH}"


def page_seconds(value: float | None) -> str:
    """Seconds with three digits: 123 s, 12.3 s, 1.23 s, 0.123 s; below half a millisecond in µs."""
    if value is None:
        return MISSING
    if value < 0:
        return MINUS + page_seconds(-value)
    if value == 0:
        return f"0{THIN}s"
    if value < 0.0005:
        return f"{value * 1e6:.3g}{THIN}µs"
    places = 0 if value >= 99.95 else 1 if value >= 9.995 else 2 if value >= 0.9995 else 3
    return f"{grouped(value, places)}{THIN}s"


def page_duration(value: float) -> str:
    """Seconds with three digits, in the unit that fits."""
    if abs(value) < 5e-4:
        return f"{three_digits(value * 1e6)}{THIN}µs"
    if abs(value) < 0.9995:
        return f"{three_digits(value * 1e3)}{THIN}ms"
    return f"{three_digits(value)}{THIN}s"


def page_summand(value_ns: int, total_ns: int) -> str:
    """Seconds of a column with a sum: the total fixes the decimal places; a value above zero never reads as 0."""
    places = 3 if total_ns >= 1_000_000_000 else 6
    least = 10 ** (9 - places)
    if 0 < value_ns < least // 2:
        return f"<{THIN}{grouped(least / 1e9, places)}{THIN}s"
    return f"{grouped(value_ns / 1e9, places)}{THIN}s"


def page_milliseconds(value_ns: float | None) -> str:
    """A round-trip time or a latency."""
    if value_ns is None:
        return MISSING
    ms = value_ns / 1e6
    return f"{grouped(ms, 0 if ms >= 99.95 else 1 if ms >= 9.995 else 2)}{THIN}ms"


def page_size(value: float | None) -> str:
    """Bytes in decimal units, three digits."""
    if value is None:
        return MISSING
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= factor:
            return f"{three_digits(value / factor)}{THIN}{unit}"
    return f"{value:.0f}{THIN}B"


def page_rate(value_bps: float | None) -> str:
    """Bits per second in decimal units, three digits."""
    if value_bps is None:
        return MISSING
    for unit, factor in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if abs(value_bps) >= factor:
            return f"{three_digits(value_bps / factor)}{THIN}{unit}"
    return f"{three_digits(value_bps)}{THIN}bit/s"


def page_count(value: int | None) -> str:
    """A whole number with groups of thousands."""
    return MISSING if value is None else grouped(value, 0)


def page_share(part: float, whole: float) -> str:
    """A share in percent; a share above zero never reads as 0 %, and one below the whole never as 100 %."""
    if whole <= 0 or part <= 0:
        return f"0{THIN}%"
    value = 100 * part / whole
    if value < 0.1:
        return f"<{THIN}0.1{THIN}%"
    if value >= 99.5 and part < whole:
        return f"{min(value, 99.9):.1f}{THIN}%"
    return f"{value:.0f}{THIN}%" if value >= 9.95 else f"{value:.1f}{THIN}%"


def page_confidence(value: float) -> str:
    """The confidence of a finding."""
    return f"{100 * value:.0f}{THIN}% confidence"


def page_dbm(value: int | None) -> str:
    """A signal level."""
    return MISSING if value is None else f"{value}{THIN}dBm".replace("-", MINUS)


def three_digits(value: float) -> str:
    """Three digits without an exponent."""
    return grouped(value, 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2)


def grouped(value: float, places: int) -> str:
    """Thousands separated by a narrow space."""
    return f"{value:,.{places}f}".replace(",", THIN)
