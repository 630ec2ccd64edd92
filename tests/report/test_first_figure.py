"""The connection of the verdict has the first figure and the first bar."""

from __future__ import annotations

from tests.captures import sample
from wlanlens.plots._rows import FlowKey
from wlanlens.report.views import data_flows


def test_the_connection_of_the_verdict_leads() -> None:
    trace = sample("mixed_newreno.sender")
    name = trace.captures[0].name
    (only,) = data_flows(trace, [])
    # A direction without data has a figure if the verdict is about it.
    back = FlowKey(name, 0, "b2a")
    assert [key for key, _ in data_flows(trace, [], back)] == [back, only[0]]
    assert data_flows(trace, [], only[0]) == [only]
