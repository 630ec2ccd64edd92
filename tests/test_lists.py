"""The lists of known faults and of slow tests name what exists."""

from __future__ import annotations

import re

from tests import kernel, known_faults, slow
from tests.captures import ROOT


@kernel.needed
def test_every_line_names_one_test_and_a_capture() -> None:
    text = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*kernel.py"))
    text += "".join(
        (ROOT / f"tests/detectors/test_{name}.py").read_text() for name in ("score", "missing_fast_retransmit")
    )
    defined = re.findall(r"def (test_\w+)", text)
    assert [f for f in known_faults.FAULTS if defined.count(f.test) != 1 or f.capture not in kernel.NAMES] == []
    keys = [(fault.test, fault.capture) for fault in known_faults.FAULTS]
    assert len(keys) == len(set(keys))


def test_the_list_of_slow_tests_names_files() -> None:
    assert [place for place in slow.SLOW if not (ROOT / "tests" / place).exists()] == []
