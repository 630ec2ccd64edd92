"""Colours: contrast on both papers, and one meaning a colour within a figure."""

from __future__ import annotations

from itertools import combinations

import pytest

from wlanlens.plots._palette import CATEGORIES, LINES, RATES, STAGES, STATIONS, TRIGGERS, USES

PAPERS = ("#ffffff", "#14181d")


def channels(colour: str) -> list[float]:
    """Linear red, green and blue (sRGB, IEC 61966-2-1)."""
    digits = colour.lstrip("#")
    digits = "".join(2 * c for c in digits) if len(digits) == 3 else digits
    values = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def contrast(a: str, b: str) -> float:
    """Contrast of WCAG 2.2."""
    lums = sorted(sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), channels(c), strict=True)) for c in (a, b))
    return (lums[1] + 0.05) / (lums[0] + 0.05)


def oklab(colour: str) -> tuple[float, ...]:
    """Oklab (Ottosson 2020): distances are perceived differences."""
    r, g, b = channels(colour)
    cone = [
        0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b,
        0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
        0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b,
    ]
    x, y, z = (c ** (1 / 3) for c in cone)
    return (
        0.2104542553 * x + 0.7936177850 * y - 0.0040720468 * z,
        1.9779984951 * x - 2.4285922050 * y + 0.4505937099 * z,
        0.0259040371 * x + 0.7827717662 * y - 0.8086757660 * z,
    )


def distance(a: str, b: str) -> float:
    return sum((p - q) ** 2 for p, q in zip(oklab(a), oklab(b), strict=True)) ** 0.5


@pytest.mark.parametrize("name", [*CATEGORIES, *USES])
def test_text_in_a_bar_is_readable(name: str) -> None:
    entry = CATEGORIES.get(name) or USES[name]
    assert contrast(entry.colour, entry.ink) >= 4.5


@pytest.mark.parametrize("side", [0, 1])
def test_letters_lines_and_dots_stand_out_from_the_paper(side: int) -> None:
    letters = [(t.light, t.dark)[side] for t in TRIGGERS.values()] + [pair[side] for pair in LINES.values()]
    marks = [(s.light, s.dark)[side] for s in STAGES.values()] + [pair[side] for pair in (*STATIONS, *RATES)]
    assert all(contrast(colour, PAPERS[side]) >= 4.5 for colour in letters)
    assert all(contrast(colour, PAPERS[side]) >= 3 for colour in marks)


def figures(side: int) -> dict[str, dict[str, str]]:
    """What each figure draws, by meaning."""
    lines = {f"line {name}": pair[side] for name, pair in LINES.items() if name not in ("rtt", "flight", "retry")}
    # One meaning: the timer's line and its retransmissions, SACK and what it triggers.
    triggers = {f"trigger {n}": (t.light, t.dark)[side] for n, t in TRIGGERS.items() if n not in ("rto", "sack")}
    stages = {f"stage {n}": (s.light, s.dark)[side] for n, s in STAGES.items() if n in ("bus", "queue")}
    return {
        "sequence": {**lines, **triggers},
        "layers": {**{k: v for k, v in lines.items() if "other" not in k}, **stages, "rate": RATES[3][side]},
        "air": {
            **{f"station {i}": pair[side] for i, pair in enumerate(STATIONS)},
            **{f"use {n}": u.colour for n, u in USES.items() if n != "other"},
        },
        "ledger": {name: category.colour for name, category in CATEGORIES.items()},
    }


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("figure", ["sequence", "layers", "air", "ledger"])
def test_one_meaning_a_colour(figure: str, side: int) -> None:
    drawn = figures(side)[figure]
    # 0.02 is the just noticeable difference; neighbours in a legend need twice that.
    near = [(a, b) for a, b in combinations(drawn, 2) if distance(drawn[a], drawn[b]) < 0.04]
    assert near == []


def test_green_is_only_for_acks() -> None:
    """Neither data on the air nor a station is green (Oklab hue 130 to 165 degrees)."""
    import math

    def green(colour: str) -> bool:
        _, a, b = oklab(colour)
        return math.hypot(a, b) > 0.04 and 130 <= math.degrees(math.atan2(b, a)) % 360 <= 165

    assert green(LINES["ack"][0])
    others = [u.colour for u in USES.values()] + [c for pair in STATIONS for c in pair]
    others += [c.colour for name, c in CATEGORIES.items() if name != "delayed_ack"]
    others += [c for s in STAGES.values() for c in s] + [c for pair in RATES for c in pair]
    assert not any(green(colour) for colour in others)


def test_the_same_thing_has_the_same_colour_everywhere() -> None:
    assert CATEGORIES["air_useful"].colour == USES["data"].colour == STAGES["air"].light
    assert CATEGORIES["air_retries"].colour == USES["retries"].colour == LINES["retry"][0]
    assert CATEGORIES["rto_wait"].colour == TRIGGERS["rto"].light == LINES["rto"][0]
    assert CATEGORIES["usb"].colour == STAGES["bus"].light
    assert CATEGORIES["queue"].colour == STAGES["queue"].light
    assert LINES["data"] == LINES["rtt"] == LINES["flight"]
