"""`wlanlens analyze`: decode, align and detect; print the verdict; write tables, findings and the report."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from . import config as settings
from . import keys
from .fail_on import share
from .meter import TerminalLine
from .names import DETECTOR, complete_condition
from .paths import OutputDirectory

if TYPE_CHECKING:
    import wlanlens as wl
    from wlanlens.pipeline.progress import Progress

SEVERITIES = ("info", "warning", "serious")
_CODES = "expected info, warning, serious, lost>20% or a code of `wlanlens list detectors`"
#: Options that name the capture point of a file.
POINTS = {
    "sender": "Capture of the sending host.",
    "receiver": "Capture of the receiving host.",
    "air": "Capture of an 802.11 sniffer.",
    "usb": "usbmon capture of the USB bus of the wireless adapter.",
    "ap": "Capture at the access point or at a router.",
}


def _points(function: Callable[..., Any]) -> Callable[..., Any]:
    for point, text in reversed(POINTS.items()):
        function = click.option(f"--{point}", metavar="FILE", type=click.Path(path_type=bytes), help=text)(function)
    return function


@click.command("analyze")
@click.argument("captures", nargs=-1, metavar="CAPTURE...", type=click.Path(path_type=bytes))
@click.option("-o", "--out", metavar="DIR", type=OutputDirectory(), help="Output directory (default: NAME.wlanlens).")
@click.option("--nat", is_flag=True, help="Addresses or ports are translated between the captures.")
@click.option("--only", metavar="CODE", type=DETECTOR, multiple=True, help="Run only this detector (repeatable).")
@click.option(
    "--fail-on",
    metavar="WHAT",
    shell_complete=complete_condition,
    multiple=True,
    help="Exit with status 1 on a finding of this severity or higher (info, warning, serious) or of this code, or with "
    "lost>20%: if the connection of the verdict lost more than this share of its life to causes (repeatable).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the findings as CSV.")
@click.option("--no-report", is_flag=True, help="Do not write report.html.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@settings.option
@keys.options
@_points
def command(
    captures: tuple[bytes, ...],
    out: str | None,
    nat: bool,
    only: tuple[str, ...],
    fail_on: tuple[str, ...],
    as_json: bool,
    as_csv: bool,
    no_report: bool,
    quiet: bool,
    config: str | None,
    key_file: bytes | None,
    key: tuple[str, ...],
    **points: bytes | None,
) -> int:
    """Find what slowed TCP in CAPTURE; write tables/, findings.json and report.html.

    The format of CAPTURE is recognised by its content (`wlanlens list formats`; also compressed); - reads standard
    input. Several captures of the same traffic are put on one time axis, and their packets are linked.
    """
    import wlanlens as wl

    given = {point: path for point, path in points.items() if path is not None}
    if not captures and not given:
        raise click.UsageError("no capture given: use `wlanlens analyze CAPTURE`, or - for standard input")
    if as_json and as_csv:
        raise click.UsageError("give --json or --csv, not both")
    _check_fail_on(fail_on)
    thresholds = settings.given(config)
    known = keys.given(key_file, key, quiet=quiet)
    if out is not None and not quiet:
        _name_other_files(out)
    progress = None if quiet or not sys.stderr.isatty() else Meter()
    try:
        analysis = wl.analyze(
            captures,
            out=out,
            only=only or None,
            roles=given,
            report=not no_report,
            progress=progress,
            keys=known,
            nat=nat,
            thresholds=thresholds,
        )
    finally:
        if progress is not None:
            progress.clear()
    if as_json:
        _print_json(analysis)
    elif as_csv:
        click.echo(analysis.findings.to_csv().encode(), nl=False)
    elif not quiet:
        from .verdict import show

        show(analysis)
    _warn_undecrypted(analysis)
    return 1 if _matches(analysis, fail_on) else 0


def _name_other_files(out: str) -> None:
    """Say that the output directory holds files of the user. They stay as they are; a file under a name of ours is an error."""
    from pathlib import Path

    from wlanlens.formatting import listed, printable
    from wlanlens.pipeline.output_dir import other_files

    others = other_files(Path(out))
    if others:
        shown = [printable(name, limit=60) for name in others[:3]]
        more = len(others) - len(shown)
        names = ", ".join(shown) + f" and {more} more" if more else listed(shown)
        click.echo(
            f"wlanlens: {printable(out)} holds {names}; the results go beside {'it' if len(others) == 1 else 'them'}, and nothing else in it is changed",
            err=True,
        )


#: Notes with a reason why no frame could be decrypted.
_REASONS = (
    "handshake_unfit",
    "other_network",
    "wrong_wep_key",
    "network_unnamed",
    "before_handshake",
    "wpa3_unread",
    "gcmp_unread",
    "fast_transition_unread",
    "enterprise_unread",
    "decryption_failed",
)


def _warn_undecrypted(analysis: wl.Analysis) -> None:
    """Warn at once when the given keys decrypted nothing."""
    for capture in analysis.trace.captures:
        notes = {note.name: note for note in capture.notes}
        if "nothing_decrypted" in notes:
            reasons = [f"{notes[name].count} {notes[name].sentence}" for name in _REASONS if name in notes]
            click.echo("wlanlens: no frame could be decrypted with the given keys", err=True)
            for sentence in reasons:
                click.echo("  " + sentence, err=True)


def _check_fail_on(fail_on: tuple[str, ...]) -> None:
    import wlanlens as wl
    from wlanlens.errors import did_you_mean

    known = [*SEVERITIES, *(code for code, _ in wl.list_units("detectors"))] if fail_on else []
    for what in fail_on:
        if share(what, "lost") is None and what not in known:
            raise click.UsageError(
                f"--fail-on {what}: unknown severity or detector; {did_you_mean(what, known, _CODES)}"
            )


def _matches(analysis: wl.Analysis, fail_on: tuple[str, ...]) -> bool:
    severities = [SEVERITIES.index(what) for what in fail_on if what in SEVERITIES]
    least = min(severities, default=len(SEVERITIES))
    if any((limit := share(what, "lost")) is not None and analysis.verdict.lost_share > limit for what in fail_on):
        return True
    return any(f.code in fail_on or SEVERITIES.index(f.severity) >= least for f in analysis.findings)


def _print_json(analysis: wl.Analysis) -> None:
    from wlanlens.detection.finding import to_dict

    from . import json_output

    printed = {
        **analysis.description,
        "out": str(analysis.out),
        "report": str(analysis.report) if analysis.report else None,
        "findings_left_out": analysis.description["findings"]["left_out"],
        "findings": [to_dict(finding) for finding in analysis.findings],
    }
    json_output.show(printed)


class Meter(TerminalLine):
    """Progress of reading in one line on the terminal; shown after a second."""

    def __init__(self) -> None:
        super().__init__()
        self._start = self._shown_at = time.monotonic()

    def __call__(self, at: Progress) -> None:
        now = time.monotonic()
        if now - self._start < 1 or now - self._shown_at < 0.2:
            return
        self._shown_at = now
        rate = at.records / (now - self._start)
        share = f"{min(100.0, 100 * at.offset_bytes / at.size_bytes):3.0f} %  " if at.size_bytes else ""
        self.show(f"{share}{at.records:,} packets, {rate / 1e6:.2f} million/s")
