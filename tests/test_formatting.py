"""Unsafe characters never reach a terminal, and shares are rounded honestly."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wlanlens.formatting import percent, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain caf\u00e9 \u5b57", "plain caf\u00e9 \u5b57"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\tc\r\x00", "a\\x0ab\\x09c\\x0d\\x00"),
        ("\x7f\x9b31m", "\\x7f\\x9b31m"),
        ("\u202ewlx\u202c\u200b\ufeff", "\\u202ewlx\\u202c\\u200b\\ufeff"),
        ("\udcff", "\\udcff"),
        (b"caf\xe9", "caf\\xe9"),
        ("\U000e0041", "\\U000e0041"),
        ("x" * 501, "x" * 500 + "..."),
    ],
)
def test_escapes(text: str | bytes, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_nothing_unsafe_is_left(text: str) -> None:
    assert all(unicodedata.category(c)[0] != "C" and c not in "\u2028\u2029" for c in printable(text))


def test_marks_do_not_pile_up() -> None:
    assert printable("a" + "\u0301" * 50).count("\u0301") == 4


def test_a_share_above_zero_never_reads_as_zero() -> None:
    assert percent(1, 10**6) == "<0.1 %"
    assert percent(0, 10**6) == "0 %"
    assert percent(0, 0) == "0 %"
