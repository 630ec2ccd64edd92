"""The limit of a process's address space: an analysis ends before it reaches it."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import SAMPLES
from wlanlens import operating_system
from wlanlens.pipeline import allocator

CAPTURE = SAMPLES / "zerowin.sender.pcap"


def test_what_is_left_of_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, left in (
        (resource.RLIM_INFINITY, 1 << 40),
        (operating_system.address_space_bytes() + (1 << 30), 1 << 29),
    ):
        monkeypatch.setattr(resource, "getrlimit", lambda _what, limit=limit: (limit, resource.RLIM_INFINITY))
        assert operating_system.address_space_left() > left
    assert operating_system.address_space_left() < 1 << 31


@pytest.mark.parametrize(("large", "left_bytes"), [(True, 1 << 20), (True, 1 << 30), (False, 1 << 20)])
def test_only_a_large_process_near_its_limit_gives_up(
    large: bool, left_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocator, "is_short", lambda: large)
    monkeypatch.setattr(allocator, "address_space_left", lambda: left_bytes)
    if large and left_bytes < 1 << 26:
        with pytest.raises(MemoryError):
            wl.analyze([CAPTURE], out=tmp_path / "out", report=False)
        assert list(tmp_path.iterdir()) == []
    else:
        assert wl.analyze([CAPTURE], out=tmp_path / "out", report=False).verdict.sentence
