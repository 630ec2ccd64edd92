"""`analyze`: captures of any size to tables, findings, ledger and report; and what reads the result back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wlanlens.capture.capture import Capture
from wlanlens.errors import file_errors
from wlanlens.formatting import html_table, percent, printable, seconds
from wlanlens.pipeline.file_names import REPORT
from wlanlens.pipeline.open_captures import AnyPath, begin_feeds, open_captures
from wlanlens.pipeline.progress import Watcher

# A capture is read while whatever judges it is imported: none of that is imported here.
if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.decryption_keys import Keys
    from wlanlens.capture.reader_thread import Feed
    from wlanlens.pipeline.output_dir import Scratch
    from wlanlens.pipeline.result_dir import Stored
    from wlanlens.pipeline.sources import Source
    from wlanlens.plots import Figure


class Analysis:
    """The result of `analyze`.

    Attributes
    ----------
    out : Path
        The directory.
    report : Path or None
        report.html; None if it was not written.
    trace : Trace
        The captures with all tables; a table is read when it is asked for.
    findings : Findings
        Costliest first; `.states` holds each detector's state.
    verdict : Verdict
        The main cause in one sentence, with its numbers.
    totals : dict
        Nanoseconds of each category of the ledger over all connections.
    air : Summary
        What the air was used for; all sums are 0 without 802.11 frames.
    description : dict
        analysis.json.
    """

    def __init__(self, stored: Stored) -> None:
        self.out, self.trace, self.findings = stored.path, stored.trace, stored.findings
        self.description = stored.description
        self.verdict = stored.verdict
        self.totals: dict[str, int] = dict(stored.description["ledger_ns"])
        self.air = stored.air
        report = stored.path / REPORT
        self.report = report if report.exists() else None

    def __repr__(self) -> str:
        return f"<Analysis {printable(str(self.out))}: {len(self.findings)} findings; {self.verdict.sentence}>"

    def _repr_html_(self) -> str:
        from wlanlens.ledger.ledger import PLAIN

        life = sum(self.totals.values())
        where = [
            (PLAIN[name], seconds(ns), percent(ns, life))
            for name, ns in sorted(self.totals.items(), key=lambda t: -t[1])
        ]
        ledger = html_table("Where the time went, over all connections", (), where) if life else ""
        return html_table(self.verdict.sentence, (), []) + ledger + self.findings._repr_html_()

    def figure(self, name: str, *, flow: int | None = None, direction: str | None = None, **options: Any) -> Figure:
        """A figure of the trace, with the findings marked in it.

        Parameters
        ----------
        name : str
            One of `wl.plots.names()`: "time_sequence".
        flow, direction : int, str, optional
            The connection and data direction; by default those of the verdict.
        **options
            Those of the plot.

        Returns
        -------
        plotly.graph_objects.Figure

        Raises
        ------
        NoSuchUnit
            No plot has this name.
        MissingTable
            The trace lacks a table that the plot draws, or has no rows of it.
        """
        from wlanlens import plots

        chosen = self.verdict.flow if flow is None else flow
        if direction is None:
            direction = self.verdict.direction if chosen == self.verdict.flow else None
        where = {"flow": chosen or 0, "direction": direction or "a2b"}
        return plots.draw(name, self.trace, self.findings, **where, **options)

    @property
    def ledger(self) -> pa.Table:
        """The whole table `ledger`."""
        return self.trace.table("ledger")


@file_errors()
def analyze(
    captures: Sequence[AnyPath | Capture] | AnyPath,
    *,
    out: str | os.PathLike[str] | None = None,
    only: Iterable[str] | None = None,
    roles: Mapping[str, AnyPath] | None = None,
    report: bool = True,
    progress: Watcher | None = None,
    keys: Keys | Iterable[str] | None = None,
    nat: bool = False,
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
) -> Analysis:
    """Decode, align, detect, and write tables/, findings.json, analysis.json and report.html.

    Memory does not grow with the captures' length. One capture is decoded in one pass; several are decoded to a scratch
    folder in `out`, aligned, and read back in time chunks. `out` changes only when the whole run succeeds.

    Parameters
    ----------
    captures : path, Capture, or sequence of them
        The captures of one trace.
    out : path, optional
        The output directory; by default the first capture's name with `.wlanlens`, in the working directory.
    only : iterable of str, optional
        The detectors to run; by default all.
    thresholds : mapping of str to mapping, optional
        Thresholds of detectors that differ from their defaults, as in `detect`.
    roles, keys, nat
        As in `align`.
    report : bool
        Whether to write report.html.
    progress : callable, optional
        Called with a `Progress` while captures are read.

    Returns
    -------
    Analysis

    Raises
    ------
    WlanlensError
        A capture cannot be read or aligned, or the directory cannot be written.
    """
    opened = open_captures(captures, roles=roles, keys=keys)
    feeds = begin_feeds(opened)
    try:
        from wlanlens.detection.runner import DetectorRunner
        from wlanlens.pipeline.output_dir import Output, Scratch
        from wlanlens.pipeline.result_dir import Stored
        from wlanlens.pipeline.run import Run

        judge = DetectorRunner(only, thresholds)
        with Output(out if out is not None else default_out(opened[0])) as output, Scratch(output) as scratch:
            Run(source_of(opened, scratch, feeds, nat=nat, progress=progress), judge, output).go(report=report)
            output.commit()
    finally:
        for feed in feeds.values():
            feed.stop()
    return Analysis(Stored(output.path))


def source_of(
    captures: Sequence[Capture],
    scratch: Scratch,
    feeds: Mapping[int, Feed] | None = None,
    *,
    nat: bool = False,
    progress: Watcher | None = None,
) -> Source:
    """The source of one capture or of several, by the feeds that `begin_feeds` began."""
    feeds = begin_feeds(captures) if feeds is None else feeds
    if len(captures) == 1:
        from wlanlens.pipeline.sources import OneCapture

        return OneCapture(captures[0], feeds[0], progress)
    from wlanlens.pipeline.aligned_captures import AlignedCaptures  # one capture needs no alignment

    return AlignedCaptures(captures, scratch, feeds, nat=nat, progress=progress)


def default_out(capture: Capture) -> Path:
    """The capture's name without its suffix, with `.wlanlens`, in the working directory; bytes that are no text become U+FFFD."""
    name = Path(os.fsencode(capture.raw_path).decode(errors="replace")).name if capture.path != "-" else "stdin"
    return Path((name.removesuffix(Path(name).suffix) or name or "capture") + ".wlanlens")


@file_errors()
def load(folder: str | os.PathLike[str]) -> Analysis:
    """Read an analysed directory back, as `analyze` returned it.

    Parameters
    ----------
    folder : path
        The directory.

    Returns
    -------
    Analysis

    Raises
    ------
    WlanlensError
        It is not an analysed directory, or not a whole one.
    """
    from wlanlens.pipeline.result_dir import Stored

    stored = Stored(folder)
    stored.check()
    return Analysis(stored)
