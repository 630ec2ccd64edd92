"""The kernel captures with ground truth, beside the repository; tests that want them are skipped where they are not."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

import wlanlens as wl
from tests.captures import ROOT
from wlanlens import ledger
from wlanlens.judge import Findings

FOLDER = ROOT.parent / "shared" / "kernel"

NAMES = sorted(path.name.removesuffix(".truth.json") for path in FOLDER.glob("*.truth.json"))

needed = pytest.mark.skipif(not NAMES, reason="the kernel captures are not beside the repository")


@cache
def truth(name: str) -> dict[str, Any]:
    """What the link and the kernel did."""
    return dict(json.loads((FOLDER / f"{name}.truth.json").read_text()))


@cache
def trace(name: str, tap: str = "sender") -> wl.Trace:
    """One capture as a trace."""
    return wl.align([FOLDER / f"{name}.{tap}.pcap"])


@cache
def found(name: str, tap: str = "sender") -> Findings:
    """All findings of one capture."""
    return wl.detect(trace(name, tap))


@cache
def owners_ns(name: str, flow: int = 0) -> dict[str, int]:
    """The ledger of one data direction a2b, ns by owner."""
    rows = ledger.summary(ledger.build(trace(name))).to_pylist()
    big = payload_direction(name)
    return {r["owner"]: r["ns"] for r in rows if r["flow"] == flow and r["direction"] == big}


def payload_direction(name: str) -> str:
    """The direction that carries the data."""
    flows = trace(name).table("flows").select(["direction", "payload_bytes"]).to_pylist()
    return str(max(flows, key=lambda row: row["payload_bytes"])["direction"])


def offset_s(name: str) -> float:
    """Seconds from the trace's start to the truth's t = 0 (the first SYN)."""
    first = trace(name).table("segments").column("time")[0].value
    return float(truth(name)["t0_epoch"]) - first / 1e9


def of(findings: Findings, code: str) -> list[wl.Finding]:
    """Findings of one code, in order of time."""
    return sorted((f for f in findings if f.code == code), key=lambda f: f.t_start_ns)
