"""Simulated captures with wrong clocks, and their true offsets and packets."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import wlanlens as wl
from wlanlens.simulation.config import TapClock, World
from wlanlens.simulation.scenario import Scenario, find
from wlanlens.simulation.simulate import EPOCH_NS, Run, simulate
from wlanlens.validation.clock_validation import shown_ns

Array = np.ndarray[Any, Any]


def clocked(name: str, clocks: dict[str, TapClock], **parameters: Any) -> Scenario:
    """A scenario whose captures have these clocks."""
    made = find(name).make(parameters)
    kind = type(made)

    def world(self: Scenario) -> World:
        return dataclasses.replace(kind.world(self), clocks=clocks)

    other = type("Clocked", (kind,), {"world": world})
    fields = {f.name: getattr(made, f.name) for f in dataclasses.fields(made)}
    return other(**fields)  # type: ignore[no-any-return]


def shown(clock: TapClock, true_ns: Array) -> Array:
    """Timestamps of a clock at true times since the start (rust/sim/src/taps/clock.rs)."""
    value = shown_ns(clock, true_ns)
    return value - value % clock.tick_ns


@dataclass
class Case:
    """One simulated pair of captures, aligned."""

    run: Run
    trace: wl.Trace
    sender: TapClock
    receiver: TapClock

    def errors_ns(self) -> list[tuple[int, int, float]]:
        """For each piece of the receiver's clock: error of the offset where its bound holds, the bound, and error of the drift."""
        clock_map = self.trace.clocks[1]
        out = []
        for number, piece in enumerate(clock_map.pieces):
            assert piece.bound_ns is not None
            step = self.receiver.step_ns if number == len(clock_map.pieces) - 1 and number else 0
            rate = 1 + self.receiver.drift_ppm * 1e-6
            true_ns = (piece.at_ns - EPOCH_NS - self.receiver.offset_ns - step) / rate
            # Whole nanoseconds: floats cannot represent numbers around 1e18 exactly.
            wanted = round(
                true_ns * (self.sender.drift_ppm - self.receiver.drift_ppm) * 1e-6
                + (self.sender.offset_ns - self.receiver.offset_ns - step)
            )
            drift = self.receiver.drift_ppm - self.sender.drift_ppm
            out.append((abs(piece.offset_ns - wanted), piece.bound_ns, abs(piece.drift_ppm - drift)))
        return out


def case(folder: Path, name: str, sender: TapClock, receiver: TapClock, seed: int = 1, **parameters: Any) -> Case:
    """Simulate and align."""
    made = clocked(name, {"sender": sender, "receiver": receiver}, **parameters)
    run = simulate(made, folder, seed=seed, taps=("sender", "receiver"))
    trace = wl.align([], roles={tap: run.captures[tap] for tap in ("sender", "receiver")})
    return Case(run, trace, sender, receiver)


def identities(case_: Case, number: int) -> Array:
    """The truth's number of the packet in each row of a capture's `packets`, by timestamp and direction."""
    truth = case_.run.facts.packets.to_pandas()
    clock = (case_.sender, case_.receiver)[number]
    left = truth[truth.direction == ("a2b" if number == 0 else "b2a")]
    came = truth[(truth.direction == ("b2a" if number == 0 else "a2b")) & (truth.fate == "delivered")]
    table = case_.trace.captures[number].table("packets")
    timestamps = table.column("time").cast("int64").to_numpy()
    outgoing = np.array(table.column("src_port").to_pylist()) >= 40_000
    outgoing = outgoing if number == 0 else ~outgoing
    ip_ids = table.column("ip_id").to_numpy().astype(np.int64)
    known: dict[tuple[bool, int], list[int]] = {}
    for rows, column, out in ((left.dropna(subset="t_tap_ns"), "t_tap_ns", True), (came, "t_end_ns", False)):
        for value, packet in zip(shown(clock, rows[column].to_numpy().astype(np.int64)), rows.id, strict=True):
            known.setdefault((out, int(value)), []).append(int(packet))
    # Packets with the same timestamp are distinguished by their IP ids, which the stack counts.
    order = {
        packet: k for direction in ("a2b", "b2a") for k, packet in enumerate(truth[truth.direction == direction].id)
    }
    keys = [(bool(o), int(t)) for o, t in zip(outgoing, timestamps, strict=True)]
    first = {
        k[0]: (int(i) - order[known[k][0]]) % 65536 for k, i in zip(keys, ip_ids, strict=True) if len(known[k]) == 1
    }
    return np.array(
        [
            next(p for p in known[k] if len(known[k]) == 1 or (first[k[0]] + order[p] - int(i)) % 65536 == 0)
            for k, i in zip(keys, ip_ids, strict=True)
        ]
    )
