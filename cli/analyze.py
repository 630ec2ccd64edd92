"""`wlanlens analyze`: decode, align, detect; print the verdict; write tables, findings and the report."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from . import keys
from .meter import TerminalLine

if TYPE_CHECKING:
    import wlanlens as wl
    from wlanlens.pipeline.progress import Progress

SEVERITIES = ("info", "warning", "serious")
ROLES = ("sender", "receiver", "air", "usb", "ap")


def _roles(function: Callable[..., Any]) -> Callable[..., Any]:
    for role in reversed(ROLES):
        help_text = f"A capture taken at the {role}."
        function = click.option(f"--{role}", metavar="FILE", type=click.Path(path_type=bytes), help=help_text)(function)
    return function


@click.command("analyze")
@click.argument("captures", nargs=-1, metavar="CAPTURE...", type=click.Path(path_type=bytes))
@click.option("-o", "--out", metavar="DIR", type=click.Path(), help="Where to write (default: NAME.wlanlens).")
@click.option("--nat", is_flag=True, help="Addresses or ports were changed between the captures.")
@click.option("--only", metavar="CODE", multiple=True, help="Run only this detector; may be given again.")
@click.option(
    "--fail-on",
    metavar="WHAT",
    multiple=True,
    help="End with status 1 on a finding of this severity or worse (info, warning, serious), or of this code.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict for machines.")
@click.option("--no-report", is_flag=True, help="Write no report.html.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@keys.options
@_roles
def command(
    captures: tuple[bytes, ...],
    out: str | None,
    nat: bool,
    only: tuple[str, ...],
    fail_on: tuple[str, ...],
    as_json: bool,
    no_report: bool,
    quiet: bool,
    key_file: bytes | None,
    key: tuple[str, ...],
    **roles: bytes | None,
) -> int:
    """Say what slowed TCP in CAPTURE, and write tables/, findings.json and report.html.

    CAPTURE is recognised by its content (pcap, pcapng, also compressed); - reads standard input. Several captures of
    the same traffic are put on one clock, and their packets linked.
    """
    import wlanlens as wl

    given = {role: path for role, path in roles.items() if path is not None}
    if not captures and not given:
        raise click.UsageError("which capture? `wlanlens analyze CAPTURE`, or - for standard input")
    _check_fail_on(fail_on)
    known = keys.given(key_file, key, quiet=quiet)
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
        )
    finally:
        if progress is not None:
            progress.clear()
    if as_json:
        _print_json(analysis)
    elif not quiet:
        from .verdict import show

        show(analysis)
    _tell_undecrypted(analysis)
    return 1 if _matches(analysis, fail_on) else 0


#: Notes that say why no frame could be decrypted.
_WHY = (
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


def _tell_undecrypted(analysis: wl.Analysis) -> None:
    """Keys that were of no use are an error of the user's, seen at once."""
    for capture in analysis.trace.captures:
        notes = {note.name: note for note in capture.notes}
        if "nothing_decrypted" in notes:
            why = [f"{notes[name].count} {notes[name].sentence}" for name in _WHY if name in notes]
            click.echo("wlanlens: no frame could be decrypted with the keys given", err=True)
            for sentence in why:
                click.echo("  " + sentence, err=True)


def _check_fail_on(fail_on: tuple[str, ...]) -> None:
    import wlanlens as wl

    known = [*SEVERITIES, *(code for code, _ in wl.list_units("detectors"))] if fail_on else []
    for what in fail_on:
        if what not in known:
            raise click.UsageError(f"--fail-on {what}: give info, warning, serious or a detector's code")


def _matches(analysis: wl.Analysis, fail_on: tuple[str, ...]) -> bool:
    severities = [SEVERITIES.index(what) for what in fail_on if what in SEVERITIES]
    least = min(severities, default=len(SEVERITIES))
    return any(f.code in fail_on or SEVERITIES.index(f.severity) >= least for f in analysis.findings)


def _print_json(analysis: wl.Analysis) -> None:
    import json

    from wlanlens.detection.finding import to_dict

    said = {
        **analysis.description,
        "out": str(analysis.out),
        "report": str(analysis.report) if analysis.report else None,
        "findings_left_out": analysis.description["findings"]["left_out"],
        "findings": [to_dict(finding) for finding in analysis.findings],
    }
    click.echo(json.dumps(said, indent=1))


class Meter(TerminalLine):
    """One line on the terminal that says how far the reading is; shown after a second."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = self._told = time.monotonic()

    def __call__(self, at: Progress) -> None:
        now = time.monotonic()
        if now - self._begun < 1 or now - self._told < 0.2:
            return
        self._told = now
        rate = at.records / (now - self._begun)
        share = f"{min(100.0, 100 * at.offset_bytes / at.size_bytes):3.0f} %  " if at.size_bytes else ""
        self.show(f"{share}{at.records:,} packets, {rate / 1e6:.2f} million/s")
