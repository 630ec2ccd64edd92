"""Tables of many traces: `runs`, and which tables of an analysis are small enough to be collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wlanlens.tables.fields import enum, field
from wlanlens.tables.schemas import schema, schemas

if TYPE_CHECKING:
    import pyarrow as pa

#: Tables with one row per packet, frame, MPDU or transfer: they grow with the capture and stay where they are. All others
#: grow with connections, stations, events or slices of time, and a fleet holds the rows of all runs.
BIG = ("packets", "segments", "frames", "exchanges", "urbs", "links")

#: What became of a trace.
STATUSES = ("done", "unreadable", "timeout", "killed", "refused")

_RUN = "Name of the run: its folder in `runs/`."


def small() -> tuple[str, ...]:
    """The names of the tables that `collect` copies."""
    return tuple(name for name in schemas() if name not in BIG)


def runs() -> pa.Schema:
    """The table `runs`: one row per trace of a batch. `seconds`, `cpu_s` and `peak_bytes` differ from run to run."""
    import pyarrow as pa

    i64, f64, text = pa.int64(), pa.float64(), pa.string()
    part = pa.struct([pa.field("category", text), pa.field("ns", i64)])
    fields = [
        field("run", text, _RUN),
        field("trace", text, "Name of the trace: from its files, or as the manifest gives it."),
        field("status", enum(), "What became of it.", values=" ".join(STATUSES)),
        field("reason", text, "Why it was not analysed; empty if it was."),
        field("captures", pa.list_(text), "Its captures, as they were given."),
        field("points", pa.list_(text), "The capture point of each as it was given; empty where none was."),
        field("size_bytes", i64, "Bytes of its captures.", unit="B"),
        field("records", i64, "Records in its captures.", null=True),
        field("connections", i64, "TCP connections.", null=True),
        field("duration_s", f64, "Length of the trace.", unit="s", null=True),
        field("findings", i64, "Number of findings.", null=True),
        field("serious", i64, "Number of findings of severity serious.", null=True),
        field("notes", i64, "Kinds of notes on lost parts and contradictions in the captures.", null=True),
        field("verdict", text, "The verdict in one sentence.", null=True),
        field(
            "cause", text, "Category of the ledger that cost all connections most; empty if none cost time.", null=True
        ),
        field("cause_s", f64, "Seconds of that category over all connections.", unit="s", null=True),
        field("lost_s", f64, "Seconds of all categories that a healthy transfer does not have.", unit="s", null=True),
        field("life_s", f64, "Seconds of the lives of all connections: the sum of `ledger`.", unit="s", null=True),
        field("ledger", pa.list_(part), "Nanoseconds of each category of the ledger over all connections.", null=True),
        field("attempts", i64, "How often it was tried."),
        field("seconds", f64, "Time that the last attempt took.", unit="s"),
        field("cpu_s", f64, "CPU time of the last attempt.", unit="s", null=True),
        field("peak_bytes", i64, "Largest resident memory of the last attempt.", unit="B", null=True),
    ]
    return pa.schema(fields, metadata={"table": "runs", "doc": "One row per trace of `wlanlens batch`."})


def collected(name: str) -> pa.Schema:
    """The schema of a table of a fleet: its own with the column `run` in front; `runs` has `tables` at its end."""
    import pyarrow as pa

    if name == "runs":
        made = runs()
        place = field("tables", pa.string(), "Folder of the run's tables; empty if it was not analysed.")
        return made.append(place)
    own = schema(name)
    run = field("run", pa.dictionary(pa.int32(), pa.string()), _RUN)
    return pa.schema([run, *own], metadata=own.metadata)
