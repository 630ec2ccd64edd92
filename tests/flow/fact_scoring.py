"""Facts of the analysis against the simulator's truth, packet by packet: each is right, undecided or wrong.

A capture of one tap is decoded alone, or all are aligned. Its packets are named in the truth by flow, direction and IP id. Rules:

* `transmission`: a packet whose sender's stack sent these bytes before is a retransmission. A second row of one packet is
  a copy. A retransmission of which the tap has no earlier copy, and before which it has no later data, looks like new data:
  undecided.
* `lost_before_tap`: wrong if true although the tap has all earlier copies, or false at the first copy that it has.
* `trigger`, `backoff`, `copy`: of rows that are retransmissions in truth and capture. `copy` at the sender's tap only.
* `spurious`: true if every byte had arrived, or arrived later, in an earlier copy. A segment with an older timestamp than
  the latest one at the left edge is dropped (PAWS, RFC 7323 section 5.3): it does not count, unless the receiver had its bytes.
* `timeouts`: each row is an expiry of the truth; `kind` is genuine if no earlier copy arrived. ack_lost if the receiver had
  acknowledged so early that the fastest ACK would have come before the expiry, and none of these ACKs arrived; else spurious.
* `recoveries`: its first segment was sent by fast recovery; `ended_by` as in the truth; `spurious` if that segment was, and none that
  followed until the end of the recovery was needed.

What the end of the run leaves open (packets under way) is not scored.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wlanlens.capture.capture import open as open_capture
from wlanlens.errors import AlignmentError
from wlanlens.pipeline.align import align
from wlanlens.simulation.simulate import Run, simulate
from wlanlens.validation.random_worlds import RandomWorld

#: Ports of the simulated flows: the client of flow n has FIRST_PORT + n (rust/sim/src/world/taps.rs).
FIRST_PORT, SERVER_PORT = 40_000, 5_001

RIGHT, UNDECIDED, WRONG = "right", "undecided", "wrong"

#: The simulated timestamp clocks tick every millisecond.
TICK_NS = 1_000_000

#: Triggers that differ only in the ACK that reported the loss, by family.
FAMILY = {"partial_ack": "fast", "sack": "fast"}

_COLUMNS = [
    "packet", "t_ns", "kind", "len", "transmission", "lost_before_tap", "trigger", "backoff", "copy", "spurious",
]  # fmt: skip

_TABLES = ("segments", "packets", "timeouts", "recoveries")

#: Facts that other captures decide.
BY_OTHERS = ("segments.spurious", "timeouts.kind")

_COPIES = ("mac_copy", "capture_duplicate", "network_duplicate")


@dataclass(frozen=True)
class Wrong:
    """A fact that is wrong.

    Attributes
    ----------
    capture : str
        Its capture point.
    tap : str
        Where it is for this direction: sender, receiver, between (hosts), usb, air.
    offers : str
        What both ends use of timestamps and SACK.
    fact : str
        Table and column.
    packet : int
        Row of the capture.
    said, true : str
    world : str
        The world, in words.
    seed : int
    """

    capture: str
    tap: str
    offers: str
    fact: str
    packet: int
    said: str
    true: str
    world: str
    seed: int


@dataclass
class Tally:
    """Facts by (tap, offers, fact, result), and those that are wrong."""

    counts: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    wrong: list[Wrong] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the results of another world."""
        self.counts.update(other.counts)
        self.wrong.extend(other.wrong)


def score_world(world: RandomWorld, *, together: bool = False) -> Tally:
    """Simulate a world and score the facts of each tap alone, or those that all captures decide together."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="wlanlens-facts-") as folder:
        run = simulate(world, folder, seed=world.seed, truth=False)
        truth = _Truth(run)
        if together:
            _score_together(truth, world, run, tally)
            return tally
        for tap, path in run.captures.items():
            capture = open_capture(path)
            if capture.has("segments"):
                names = [name for name in _TABLES if capture.has(name)]
                _score_tap(truth, world, tap, {name: capture.table(name).to_pandas() for name in names}, tally)
    return tally


def _score_together(truth: _Truth, world: RandomWorld, run: Run, tally: Tally) -> None:
    try:
        trace = align(list(run.captures.values()))
    except AlignmentError:
        return
    tables = {name: trace.table(name).to_pandas() for name in _TABLES if trace.has(name)}
    for tap, path in run.captures.items():
        mine = {name: rows[rows.capture == path.name] for name, rows in tables.items()}
        if len(mine.get("segments", ())):
            _score_tap(truth, world, tap, mine, tally, only=BY_OTHERS)


def _score_tap(
    truth: _Truth,
    world: RandomWorld,
    tap: str,
    tables: Mapping[str, Any],
    tally: Tally,
    only: Collection[str] = (),
) -> None:
    packets = tables["packets"][["packet", "src_port", "dst_port", "ip_id"]]
    rows = tables["segments"][_COLUMNS].merge(packets, on="packet").sort_values("packet")
    back = rows.src_port == SERVER_PORT
    number = np.where(back, rows.dst_port, rows.src_port) - FIRST_PORT
    for (flow, reverse), mine in rows.groupby([number, back]):
        if truth.tcp[int(flow)] is not None:
            _Side(truth, tap, int(flow), bool(reverse), world, tally, only).score(mine, tables)


class _Truth:
    """The truth of a run as arrays by packet id."""

    def __init__(self, run: Run) -> None:
        self.world = run.facts.world
        self.tcp = [flow.tcp for flow in self.world.flows]
        p = run.facts.packets.to_pandas()
        self.back = (p.direction.astype(str) == "b2a").to_numpy()
        self.flow, self.ip_id, self.seq = p.flow.to_numpy(), p.ip_id.to_numpy(), p.rel_seq.to_numpy().astype(np.int64)
        self.ack = p.rel_ack.to_numpy().astype(np.int64)
        self.end = self.seq + np.maximum(p.len_bytes.to_numpy().astype(np.int64), (self.seq == 0).astype(np.int64))
        self.made, self.ended = p.t_made_ns.to_numpy(), p.t_end_ns.to_numpy()
        self.trigger, self.fate = p.trigger.astype(str).to_numpy(), p.fate.astype(str).to_numpy()
        self.copy = p["copy"].to_numpy()
        self.ids = {
            (int(f), bool(b)): g.to_numpy() for (f, b), g in p.reset_index().groupby(["flow", self.back])["index"]
        }
        self.events: dict[tuple[int, str], list[tuple[int, str]]] = {}
        for e in run.facts.events.to_pylist():
            self.events.setdefault((e["flow"], e["direction"]), []).append((e["t_ns"], e["what"]))

    def offers(self, flow: int) -> str:
        """What both ends use."""
        tcp = self.tcp[flow]
        used = (("timestamps", tcp.timestamps), ("sack", tcp.sack)) if tcp is not None else ()
        return "+".join(word for word, has in used if has) or "neither"

    def place(self, tap: str, flow: int, back: bool) -> str:
        """Where a tap is for one direction: at its sender, at its receiver, or between."""
        if tap not in ("sender", "receiver"):
            return tap
        node = getattr(self.world, tap)
        ends = (self.world.flows[flow].client, self.world.flows[flow].server)
        data_from, data_to = ends[::-1] if back else ends
        return "sender" if node == data_from else "receiver" if node == data_to else "between"


class _Side:
    """One direction of a flow at one tap."""

    def __init__(
        self,
        truth: _Truth,
        tap: str,
        flow: int,
        back: bool,
        world: RandomWorld,
        tally: Tally,
        only: Collection[str] = (),
    ) -> None:
        self.truth, self.world, self.tally, self.only = truth, world, tally, only
        self.offers = truth.offers(flow)
        self.capture, self.tap = tap, truth.place(tap, flow, back)
        none = np.zeros(0, np.int64)
        self.ids, self.acks = truth.ids.get((flow, back), none), truth.ids.get((flow, not back), none)
        self.by_ip_id: dict[int, list[int]] = {}
        for i in self.ids.tolist():
            self.by_ip_id.setdefault(int(truth.ip_id[i]), []).append(i)
        back_ns = (truth.ended - truth.made)[self.acks[truth.fate[self.acks] == "delivered"]]
        self.least_back = int(back_ns.min()) if len(back_ns) else 0
        word = "b2a" if back else "a2b"
        self.events = truth.events.get((flow, word), [])
        self.outdated = self.dropped_by_receiver() if "timestamps" in self.offers else frozenset()

    def number_fin(self, rows: Any) -> None:
        """A FIN occupies a sequence number (RFC 9293 section 3.4): it ends what its copies and the ACKs sent before it do not."""
        t = self.truth
        for row in rows[(rows.kind == "fin") & (rows.len == 0)].itertuples():
            i = self.identify(row)
            if i is not None:
                again = (t.seq[self.ids] == t.seq[i]) & (t.trigger[self.ids] != "new")
                t.end[[i, *self.ids[again]]] = t.seq[i] + 1

    def score(self, rows: Any, tables: Mapping[str, Any]) -> None:
        self.number_fin(rows)
        seen: set[int] = set()
        bytes_seen = 0
        named: dict[int, int] = {}
        for row in rows.itertuples():
            i = self.identify(row)
            if i is None:
                continue
            named[int(row.packet)] = i
            occupies = row.len > 0 or row.kind in ("syn", "synack", "fin")
            if occupies and row.kind not in ("window_probe", "keepalive"):
                self.segment(row, i, seen, bytes_seen)
                bytes_seen = max(bytes_seen, int(self.truth.end[i]))
            elif row.kind != "rst":
                # A pure ACK carries SND.NXT: the bytes below it were sent before.
                bytes_seen = max(bytes_seen, int(self.truth.seq[i]))
            seen.add(i)
        for name, judge in (("timeouts", self.timeout), ("recoveries", self.recovery)):
            if name in tables:
                mine = tables[name][tables[name].packet.isin(list(named))]
                for row in mine.itertuples():
                    judge(row, named[int(row.packet)])

    def identify(self, row: Any) -> int | None:
        """The packet of the truth; of several with its IP id the one made last before the row."""
        found = [i for i in self.by_ip_id.get(int(row.ip_id), ()) if self.truth.made[i] <= row.t_ns + 10**12]
        return found[-1] if found else None

    def judge(self, fact: str, row: Any, result: str, said: Any = "", true: Any = "") -> None:
        if self.only and fact not in self.only:
            return
        self.tally.counts[self.tap, self.offers, fact, result] += 1
        if result == WRONG:
            wrong = Wrong(
                self.capture,
                self.tap,
                self.offers,
                fact,
                int(row.packet),
                str(said),
                str(true),
                self.world.drawn,
                self.world.seed,
            )
            self.tally.wrong.append(wrong)

    def same(self, fact: str, row: Any, said: Any, true: Any) -> None:
        self.judge(fact, row, RIGHT if said == true else WRONG, said, true)

    def segment(self, row: Any, i: int, seen: set[int], bytes_seen: int) -> None:
        t, said = self.truth, row.transmission
        earlier = self.earlier(i)
        captured = [j for j in earlier if j in seen]
        if i in seen:
            self.judge("segments.transmission of a copy", row, RIGHT if said in _COPIES else WRONG, said, "copy")
            return
        if t.trigger[i] == "new":
            late = t.end[i] <= bytes_seen
            self.same("segments.transmission of new data", row, said, "reordered" if late else "first")
            if said == "first":
                self.same("segments.lost_before_tap of new data", row, bool(row.lost_before_tap), False)
            return
        if said != "retransmission":
            hidden = not captured and t.end[i] > bytes_seen
            result = UNDECIDED if hidden and said == "first" else WRONG
            self.judge("segments.transmission of a retransmission", row, result, said, t.trigger[i])
            return
        self.judge("segments.transmission of a retransmission", row, RIGHT)
        lost = bool(row.lost_before_tap)
        if (lost and len(captured) == len(earlier)) or (not lost and not captured):
            self.judge("segments.lost_before_tap", row, WRONG, lost, not lost)
        else:
            self.judge("segments.lost_before_tap", row, RIGHT if lost or len(captured) == len(earlier) else UNDECIDED)
        self.trigger(row, i)
        spurious = self.spurious(i)
        if spurious is not None:
            self.maybe("segments.spurious", row, row.spurious, spurious)
        if self.tap == "sender" and _known(row.copy):
            self.same("segments.copy", row, int(row.copy), int(t.copy[i]))

    def trigger(self, row: Any, i: int) -> None:
        said, true = row.trigger, self.truth.trigger[i]
        if said == "undecided":
            self.judge("segments.trigger", row, UNDECIDED)
            return
        self.same("segments.trigger", row, FAMILY.get(said, said), FAMILY.get(true, true))
        if said == true == "rto" and _known(row.backoff):
            self.same("segments.backoff", row, int(row.backoff), self.backoff(i))

    def maybe(self, fact: str, row: Any, said: Any, true: bool) -> None:
        if not _known(said):
            self.judge(fact, row, UNDECIDED)
        else:
            self.same(fact, row, bool(said), true)

    def earlier(self, i: int) -> list[int]:
        """Earlier copies of its first byte."""
        t = self.truth
        before = self.ids[: np.searchsorted(self.ids, i)]
        holds = (t.seq[before] <= t.seq[i]) & (t.seq[i] < t.end[before])
        return [int(j) for j in before[holds]]

    def spurious(self, i: int) -> bool | None:
        """Whether all of its bytes arrived in earlier copies; None: some did, or the run's end leaves it open."""
        t = self.truth
        before = self.ids[: np.searchsorted(self.ids, i)]
        overlap = before[(t.seq[before] < t.end[i]) & (t.end[before] > t.seq[i])]
        if (t.fate[overlap] == "under_way").any():
            return None
        arrived = np.asarray([j for j in overlap if t.fate[j] == "delivered" and j not in self.outdated], np.int64)
        if not len(arrived):
            return False
        whole = ((t.seq[arrived] <= t.seq[i]) & (t.end[arrived] >= t.end[i])).any()
        return True if whole else None

    def dropped_by_receiver(self) -> frozenset[int]:
        """Packets that arrive with an older timestamp than the receiver's latest (RFC 7323 sections 4.3 and 5.3), and bring
        bytes that it did not have."""
        t = self.truth
        made = self.acks[np.argsort(t.made[self.acks], kind="stable")]
        acked = np.maximum.accumulate(t.ack[made]) if len(made) else t.ack[made]
        arrived = self.ids[t.fate[self.ids] == "delivered"]
        dropped, recent = set(), 0
        kept: list[int] = []
        for i in arrived[np.argsort(t.ended[arrived], kind="stable")].tolist():
            stamp = int(t.made[i]) // TICK_NS
            if stamp < recent and t.end[i] > t.seq[i] > 0:
                if not ((t.seq[kept] <= t.seq[i]) & (t.end[kept] >= t.end[i])).any():
                    dropped.add(i)
                continue
            kept.append(i)
            if stamp >= recent:
                before = int(np.searchsorted(t.made[made], t.ended[i]))
                edge = max(0, int(acked[before - 1])) if before else 0
                if t.seq[i] <= edge and (t.end[i] > edge or t.end[i] == t.seq[i]):
                    recent = stamp
        return frozenset(dropped)

    def backoff(self, i: int) -> int:
        """Earlier expiries for the same first byte without an ACK of new data between them."""
        t = self.truth
        before = self.ids[: np.searchsorted(self.ids, i)]
        same = before[(t.trigger[before] == "rto") & (t.seq[before] == t.seq[i])]
        return len(same)

    def timeout(self, row: Any, i: int) -> None:
        t = self.truth
        self.same("timeouts", row, "rto", t.trigger[i])
        spurious = self.spurious(i)
        if t.trigger[i] != "rto" or spurious is None:
            return
        true = "genuine"
        if spurious:
            acks = self.acks[(t.made[self.acks] < t.made[i] - self.least_back) & (t.ack[self.acks] > t.seq[i])]
            if (t.fate[acks] == "under_way").any():
                return
            true = "ack_lost" if len(acks) and not (t.fate[acks] == "delivered").any() else "spurious"
        if row.kind == "undecided":
            self.judge("timeouts.kind", row, UNDECIDED)
        else:
            self.same("timeouts.kind", row, row.kind, true)

    def recovery(self, row: Any, i: int) -> None:
        t = self.truth
        true = FAMILY.get(t.trigger[i], t.trigger[i])
        self.same("recoveries", row, "fast", true)
        if true != "fast":
            return
        spurious = self.nothing_lost(i)
        if spurious is not None:
            self.maybe("recoveries.spurious", row, row.spurious, spurious)
        if self.tap == "sender":
            if _known(row.ended_by):
                self.same("recoveries.ended_by", row, row.ended_by, self.ended_by(i))
            else:
                self.judge("recoveries.ended_by", row, UNDECIDED)

    def all_acked(self, i: int) -> float:
        """When an ACK of all data sent before segment i reached the sender; infinite for never."""
        t = self.truth
        point = t.end[self.ids[: np.searchsorted(self.ids, i)]].max()
        acks = self.acks[(t.ack[self.acks] >= point) & (t.fate[self.acks] == "delivered")]
        return float(t.ended[acks].min()) if len(acks) else np.inf

    def nothing_lost(self, i: int) -> bool | None:
        """Whether no retransmission of the recovery that segment i began was needed; None: the first is open, or what followed it."""
        t, until = self.truth, self.all_acked(i)
        mine = self.ids[(self.ids >= i) & (t.made[self.ids] < until) & np.isin(t.trigger[self.ids], [*FAMILY, "fast"])]
        verdicts = [self.spurious(int(j)) for j in mine]
        return False if False in verdicts else None if None in verdicts else True

    def ended_by(self, i: int) -> str:
        """What came first: an ACK of all data sent before the recovery or one that undid it, or an expiry."""
        t = self.truth
        acked = min(
            [self.all_acked(i), *(at for at, what in self.events if what == "recovery_undone" and at > t.made[i])]
        )
        expired = min((at for at, what in self.events if what == "timeout" and at > t.made[i]), default=np.inf)
        if acked == expired == np.inf:
            return "capture_end"
        return "acked" if acked <= expired else "timeout"


def _known(value: Any) -> bool:
    return value is not None and value == value and str(value) != "<NA>"


def shares(tally: Tally) -> Iterator[tuple[str, str, str, int, float, int]]:
    """Per (tap, offers, fact): how many, the undecided share, and how many are wrong."""
    keys = sorted({key[:3] for key in tally.counts})
    for key in keys:
        right, undecided, wrong = (tally.counts[(*key, r)] for r in (RIGHT, UNDECIDED, WRONG))
        total = right + undecided + wrong
        yield (*key, total, undecided / total, wrong)
