"""Numbers as people read them: seconds, bytes, rates, shares."""

from __future__ import annotations

THIN = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
LACKING = "\N{EM DASH}"


def seconds(value: float | None) -> str:
    """Seconds with three figures: 123 s, 12.3 s, 1.23 s, 0.123 s; below a millisecond in µs."""
    if value is None:
        return LACKING
    if value < 0:
        return MINUS + seconds(-value)
    if value == 0:
        return f"0{THIN}s"
    if value < 0.0005:
        return f"{value * 1e6:.3g}{THIN}µs"
    places = 0 if value >= 99.95 else 1 if value >= 9.995 else 2 if value >= 0.9995 else 3
    return f"{grouped(value, places)}{THIN}s"


def lasting(value: float) -> str:
    """A length of time with three figures in the unit that suits it."""
    if abs(value) < 5e-4:
        return f"{three(value * 1e6)}{THIN}µs"
    return f"{three(value * 1e3)}{THIN}ms" if abs(value) < 0.9995 else f"{three(value)}{THIN}s"


def summed_seconds(value_ns: int, total_ns: int) -> str:
    """Seconds of a column that sums: places fixed by the total; what is not nothing never shows as nothing."""
    places = 3 if total_ns >= 1_000_000_000 else 6
    least = 10 ** (9 - places)
    if 0 < value_ns < least // 2:
        return f"<{THIN}{grouped(least / 1e9, places)}{THIN}s"
    return f"{grouped(value_ns / 1e9, places)}{THIN}s"


def milliseconds(value_ns: float | None) -> str:
    """A round-trip time."""
    if value_ns is None:
        return LACKING
    ms = value_ns / 1e6
    return f"{grouped(ms, 0 if ms >= 99.95 else 1 if ms >= 9.995 else 2)}{THIN}ms"


def size(value: float | None) -> str:
    """Bytes in decimal units, three figures."""
    if value is None:
        return LACKING
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= factor:
            return f"{three(value / factor)}{THIN}{unit}"
    return f"{value:.0f}{THIN}B"


def rate(value_bps: float | None) -> str:
    """Bits a second in decimal units, three figures."""
    if value_bps is None:
        return LACKING
    for unit, factor in (("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if abs(value_bps) >= factor:
            return f"{three(value_bps / factor)}{THIN}{unit}"
    return f"{three(value_bps)}{THIN}b/s"


def count(value: int | None) -> str:
    """A whole number, thousands apart."""
    return LACKING if value is None else grouped(value, 0)


def share(part: float, whole: float) -> str:
    """A share in percent; what is not nothing never shows as 0 %."""
    if whole <= 0 or part <= 0:
        return f"0{THIN}%"
    percent = 100 * part / whole
    if percent < 0.1:
        return f"<{THIN}0.1{THIN}%"
    return f"{percent:.0f}{THIN}%" if percent >= 9.95 else f"{percent:.1f}{THIN}%"


def confidence(value: float) -> str:
    """How sure a finding is."""
    return f"{100 * value:.0f}{THIN}% sure"


def three(value: float) -> str:
    """Three figures without an exponent."""
    return grouped(value, 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2)


def grouped(value: float, places: int) -> str:
    """Thousands apart by a narrow space."""
    return f"{value:,.{places}f}".replace(",", THIN)
