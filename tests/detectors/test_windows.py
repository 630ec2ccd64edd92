"""A window of a long capture has no `flows` row of connections that continue after it: detectors judge them too."""

from __future__ import annotations

import pytest

from tests import kernel
from wlanlens import tables
from wlanlens.detection.runner import detect
from wlanlens.trace import Trace

pytestmark = kernel.needed

HELD = ("segments", "timeouts", "recoveries", "intervals")


def without_flows(name: str) -> Trace:
    """The capture's tables while its connections continue."""
    whole = kernel.trace(name)
    held = {table: whole.table(table) for table in HELD}
    return Trace.of_tables({**held, "flows": tables.empty("flows")}, duration_ns=whole.duration_ns)


@pytest.mark.parametrize(
    "name", ["mixed_newreno", "ackhold120", "blackout3", "zerowin", "tail_tlp", "bloat100", "reorder1"]
)
def test_the_same_findings_without_flows(name: str) -> None:
    cut = detect(without_flows(name))
    assert not [state for state in cut.states if state.state == "failed"]
    whole = kernel.found(name)
    assert sorted((f.code, f.t_start_ns, f.t_end_ns) for f in cut) == sorted(
        (f.code, f.t_start_ns, f.t_end_ns) for f in whole
    )


def test_many_cases_make_a_limited_number_of_findings() -> None:
    one = kernel.trace("blackout3").table("timeouts").slice(0, 2)
    rows = one.to_pylist()
    many = [{**row, "flow": flow, "packet": row["packet"] + 1000 * flow} for flow in range(3000) for row in rows]
    held = {table: tables.empty(table) for table in HELD}
    held["timeouts"] = held["timeouts"].schema.empty_table().from_pylist(many, schema=tables.schema("timeouts"))
    found = detect(Trace.of_tables({**held, "flows": tables.empty("flows")}, duration_ns=10**11), only=["idle_backoff"])
    assert len(found) == 1001
    rest = [f for f in found if f.subject == "2000 more flows"]
    assert [f.values["cases_count"] for f in rest] == [2000]
