"""`wlanlens doctor`: what a better capture would need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import click.formatting

from . import keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wlanlens.capture.doctor import Advice

_HEADS = {"better": "Better", "unknown": "Unknown", "good": "Good"}


@click.command("doctor")
@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE...", type=click.Path(path_type=bytes))
@click.option("--json", "as_json", is_flag=True, help="Print the advice as JSON.")
@keys.options
def command(captures: tuple[bytes, ...], as_json: bool, key_file: bytes | None, key: tuple[str, ...]) -> None:
    """Say what a better CAPTURE would need, and the command that takes it.

    It looks at snap length, timestamps, packets that the tap dropped, frames that the sniffer missed, encryption, offload,
    and at which further points a capture taken at the same time would help. Nothing is written.
    """
    from dataclasses import asdict

    import wlanlens as wl

    from . import json_output

    found = wl.doctor(captures, keys=keys.given(key_file, key))
    if as_json:
        json_output.show({"advice": [asdict(one) for one in found]})
    else:
        _show(found)


def _show(found: Sequence[Advice]) -> None:
    from wlanlens.formatting import printable

    for capture in dict.fromkeys(one.capture for one in found):
        mine = [one for one in found if one.capture == capture]
        click.echo(click.style(printable(capture) if capture else "Other capture points", bold=True))
        for state, head in _HEADS.items():
            for one in mine:
                if one.state == state:
                    _line(f"  {head:8} {one.topic}: {printable(one.sentence, 5000)}")
                    if one.command:
                        click.echo(f"           $ {printable(one.command, 5000)}")
        click.echo()


def _line(text: str) -> None:
    import shutil

    width = min(shutil.get_terminal_size((100, 24)).columns, 100)
    click.echo(click.formatting.wrap_text(text, width, initial_indent="", subsequent_indent=" " * 11))
