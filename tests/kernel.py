"""The kernel captures with ground truth (../shared/kernel); tests that need them are skipped where they are absent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd
import pytest

import wlanlens as wl
from tests.captures import ROOT
from wlanlens.detection.findings import Findings
from wlanlens.ledger import ledger

FOLDER = ROOT.parent / "shared" / "kernel"

NAMES = sorted(path.name.removesuffix(".truth.json") for path in FOLDER.glob("*.truth.json"))

#: Captures with their own truth; the others are copies with a damaged measurement.
WHOLE = [name for name in NAMES if "flows" in json.loads((FOLDER / f"{name}.truth.json").read_text())]

#: What the kernel's trace points call a trigger, in our words.
TRIGGERS = {
    "RTO": {"rto"},
    "loss_recovery": {"go_back_n"},
    "fast": {"fast", "partial_ack", "sack"},
    "TLP": {"tail_loss_probe"},
}

#: SYN-ACKs: where the truth is limited, not the program (README of the set, and LIMITS of its score.py). Their timers have no
#: congestion state, so its `rto` leaves them out, and its trigger is "RTO" even where a SYN-ACK answers a repeated SYN.
SYNACK_TIMERS = {"n_http20_rev": 1}
SYNACK_ANSWERS = {"n_bidir_newreno_rev": 1, "n_http20_rev": 1}

needed = pytest.mark.skipif(not NAMES, reason="the kernel captures (../shared/kernel) are absent")


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
def categories_ns(name: str, flow: int = 0) -> dict[str, int]:
    """The ledger of one data direction a2b, ns by category."""
    rows = ledger.summary(trace(name).table("ledger")).to_pylist()
    big = payload_direction(name)
    return {r["category"]: r["ns"] for r in rows if r["flow"] == flow and r["direction"] == big}


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


@cache
def _packets(name: str, tap: str) -> pd.DataFrame:
    rows = trace(name, tap).table("segments").to_pandas()
    columns = ["packet", "src_port", "dst_port", "ip_id"]
    addressed = trace(name, tap).table("packets").select(columns).to_pandas(types_mapper=pd.ArrowDtype)
    occupying = (rows["len"] > 0) | rows["kind"].isin(["syn", "synack", "fin"])
    probing = rows["kind"].isin(["window_probe", "keepalive"])
    return rows[occupying & ~probing].merge(addressed, on="packet")


def sent(name: str, flow: dict[str, Any], tap: str = "sender") -> pd.DataFrame:
    """The packets of a flow of the truth that occupy sequence space, in order: row n is the truth's n-th."""
    rows = _packets(name, tap)
    return rows[(rows["src_port"] == flow["sport"]) & (rows["dst_port"] == flow["dport"])].reset_index(drop=True)


def flow_row(name: str, flow: dict[str, Any], tap: str = "sender") -> dict[str, Any]:
    """The row of `flows` of a flow of the truth."""
    rows = trace(name, tap).table("flows").to_pylist()
    (row,) = (r for r in rows if (r["src_port"], r["dst_port"]) == (flow["sport"], flow["dport"]))
    return dict(row)


def timeouts(name: str, flow: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of `timeouts` of a flow of the truth, in order of time."""
    row = flow_row(name, flow)
    rows = trace(name).table("timeouts").sort_by("t_ns").to_pylist() if trace(name).has("timeouts") else []
    rows = [r for r in rows if (r["flow"], r["direction"]) == (row["flow"], row["direction"])]
    return [r for r in rows if r["rel_seq"] > 0 or name not in SYNACK_TIMERS]


@dataclass(frozen=True)
class Retransmitted:
    """One retransmission of the truth, and what the tables say of it."""

    capture: str
    n: int
    truth: dict[str, Any]
    trigger: str | None
    spurious: bool | None

    @property
    def trigger_right(self) -> bool:
        """Whether the trigger is the kernel's."""
        answer = self.capture in SYNACK_ANSWERS and self.truth.get("flag") == "SYN" and self.trigger == "undecided"
        # A probe of the only segment outstanding looks as its expiry would (RFC 8985 section 7.2, RFC 6298 section 5.4).
        lone = self.truth["trigger"] == "TLP" and self.trigger == "undecided"
        return answer or lone or self.trigger in TRIGGERS[self.truth["trigger"]]


@dataclass(frozen=True)
class Score:
    """One capture at the sender's tap against its truth."""

    missed: tuple[int, ...]
    false: tuple[int, ...]
    retransmitted: tuple[Retransmitted, ...]


@cache
def score(name: str) -> Score:
    """Retransmissions of all flows at the sender's tap."""
    missed: list[int] = []
    false: list[int] = []
    retransmitted: list[Retransmitted] = []
    for flow in truth(name)["flows"]:
        rows = sent(name, flow)
        want = {entry["n"]: entry for entry in flow["retransmission_list"]}
        got = set(rows.index[rows["transmission"] == "retransmission"])
        missed += sorted(set(want) - got)
        false += sorted(got - set(want))
        for n in sorted(set(want) & got):
            spurious = rows["spurious"][n]
            known = None if pd.isna(spurious) else bool(spurious)
            retransmitted.append(Retransmitted(name, n, want[n], str(rows["trigger"][n]), known))
    return Score(tuple(missed), tuple(false), tuple(retransmitted))
