"""`align` in memory: which tables a trace has, and when they are made."""

from __future__ import annotations

import pytest

import wlanlens as wl
from tests.captures import MIXED
from wlanlens import tables
from wlanlens.capture.capture import Capture


def test_a_trace_has_its_tables_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = wl.align([MIXED])
    with monkeypatch.context() as patch:
        patch.setattr(Capture, "table", lambda *_: pytest.fail("a table was made"))
        for name in (*tables.core_schemas(), "ledger", "quality", "airtime", "stations"):
            assert trace.has(name), name
        assert not trace.has("links")
    assert trace.leading() is trace
    assert trace.table("ledger") is trace.table("ledger")


def test_a_missing_table_is_named() -> None:
    with pytest.raises(wl.WlanlensError, match="no table 'links'"):
        wl.align([MIXED]).table("links")


def test_an_unknown_capture_point_is_refused() -> None:
    with pytest.raises(wl.WlanlensError, match="unknown capture point 'middle'"):
        wl.align([MIXED], roles={"middle": MIXED})


def test_nothing_to_align() -> None:
    with pytest.raises(wl.WlanlensError, match="no capture"):
        wl.align([])
