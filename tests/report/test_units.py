"""units.js formats numbers as formatting.py does."""

from __future__ import annotations

from typing import Any

import pytest

from wlanlens import formatting
from wlanlens.report import bundle
from wlanlens.report.inert import unbroken

# No exact ties such as 1234.5: Python rounds them to even, browsers away from zero.
VALUES = (
    0.0,
    1e-9,
    4.9e-4,
    5e-4,
    0.0123,
    0.9994,
    0.9996,
    1.0,
    9.994,
    9.996,
    99.94,
    99.96,
    999.0,
    1234.56,
    5.2e6,
    7.1e9,
    3e12,
)


@pytest.mark.parametrize(
    ("script", "python"),
    [
        ("duration", formatting.page_duration),
        ("bytes", formatting.page_size),
        ("threeDigits", formatting.three_digits),
    ],
)
def test_the_browser_formats_numbers_as_python_does(opened: Any, script: str, python: Any) -> None:
    shown = opened().page.evaluate(f"(values) => {{ {bundle.text('units.js')} return values.map({script}); }}", VALUES)
    assert shown == [python(value) for value in VALUES]


def test_a_share_is_100_percent_only_if_it_is_the_whole() -> None:
    assert formatting.page_share(14.42, 14.45) == f"99.8{formatting.THIN}%"
    assert formatting.page_share(0.99999, 1) == f"99.9{formatting.THIN}%"
    assert formatting.page_share(1, 1) == f"100{formatting.THIN}%"


def test_no_line_ends_between_a_number_and_its_unit() -> None:
    said = unbroken("took 734 ms for 111 kB (1.22 Mbit/s); 2 packets, 76 % in 12 sessions at -45 dBm")
    assert said.replace("\N{NO-BREAK SPACE}", "_") == (
        "took 734_ms for 111_kB (1.22_Mbit/s); 2 packets, 76_% in 12 sessions at -45_dBm"
    )
