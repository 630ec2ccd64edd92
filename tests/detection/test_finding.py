"""Findings keep every field through Arrow and JSON."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wlanlens import tables
from wlanlens.detection import finding as fd
from wlanlens.detection.finding import Finding, frame_filter, grouped
from wlanlens.detection.windows import join_windows

S = 1_000_000_000


def make(start: float = 1.0, end: float = 2.0, **fields: Any) -> Finding:
    given_fields = {
        "code": "spurious_timeout",
        "capture": "a.pcap",
        "subject": "10.0.0.1:1 > 10.0.0.2:2",
        "severity": "warning",
        "confidence": 0.9,
        "cost_s": end - start,
        "values": {"wait_ms": 450.5, "timeouts_count": 1, "by": "timestamp"},
        "evidence": (("segments", "a.pcap", (3, 4)),),
        "sentence": "A sentence.",
        "display_filter": "frame.number in {3, 4}",
        "flow": 0,
        "direction": "a2b",
    }
    return Finding(t_start_ns=int(start * S), t_end_ns=int(end * S), **{**given_fields, **fields})


@given(
    st.lists(
        st.builds(
            lambda start, length, cost, values, flow: make(
                start, start + length, cost_s=cost, values=values, flow=flow, direction=None
            ),
            st.floats(0, 100),
            st.floats(0, 100),
            st.floats(0, 1e9),
            st.dictionaries(st.text(), st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text()),
            st.none() | st.integers(0, 2**32 - 1),
        ),
        max_size=3,
    )
)
def test_through_arrow(findings: list[Finding]) -> None:
    table = fd.to_table(findings)
    tables.validate(table, "findings")
    assert fd.from_table(table) == findings


def test_through_json() -> None:
    finding = make(sentence="</script>\x1b\u2028")
    text = fd.to_json([finding])
    assert text.isascii()
    assert "\x1b" not in text
    assert fd.from_json(text) == [finding]


def test_json_keys_are_the_fields_of_the_table() -> None:
    assert list(fd.to_dict(make())) == tables.schema("findings").names


@pytest.mark.parametrize(
    "wrong",
    [{"severity": "bad"}, {"confidence": 1.1}, {"cost_s": -1.0}, {"cost_s": float("nan")}, {"direction": "up"}],
)
def test_refuses_nonsense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"severity|confidence|cost|direction"):
        make(**wrong)
    with pytest.raises(ValueError, match="ends"):
        make(2.0, 1.0, cost_s=1.0)


def test_frame_filter() -> None:
    assert frame_filter([]) == ""
    assert frame_filter([9, 1, 2, 3, 7, 7]) == "frame.number in {1..3, 7, 9}"
    assert frame_filter(range(1, 1000, 2)) == "frame.number >= 1 && frame.number <= 999"


def test_windows_join_only_what_the_border_cut() -> None:
    early, late = make(1.0, 2.0), make(2.0, 4.0, values={"wait_ms": 1.0, "timeouts_count": 2})
    joined = join_windows([make(0.0, 0.5), early], [late, make(4.0, 5.0)])
    assert [(f.t_start_ns / S, f.t_end_ns / S, f.cost_s) for f in joined] == [(0, 0.5, 0.5), (1, 4, 3.0), (4, 5, 1.0)]
    assert joined[1].values == {"wait_ms": 1.0, "timeouts_count": 3, "by": "timestamp"}
    assert joined[1].evidence == (("segments", "a.pcap", (3, 4)),)
    other = join_windows([early], [make(2.0, 4.0, flow=1), make(2.0, 4.0, code="ack_holding")])
    assert len(other) == 3


def test_findings_of_one_code_are_one_group_the_costliest_first() -> None:
    def found(code: str, cost_s: float, severity: str = "info") -> Finding:
        return Finding(code, 0, 1, "a.pcap", "s", severity, 0.9, cost_s)

    groups = grouped([found("a", 3.0), found("b", 2.0), found("b", 2.5, "serious"), found("c", 0.0)])
    assert [(g.code, g.cost_s, g.severity, [n for n, _ in g.members]) for g in groups] == [
        ("b", 4.5, "serious", [3, 2]),
        ("a", 3.0, "info", [1]),
        ("c", 0.0, "info", [4]),
    ]
