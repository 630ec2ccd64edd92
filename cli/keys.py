"""Options for keys of encrypted networks, shared by several subcommands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from wlanlens.capture.decryption_keys import Keys


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --key-file and --key."""
    in_file = click.option(
        "--key-file",
        metavar="FILE",
        type=click.Path(path_type=bytes),
        help="File with keys of encrypted networks, one per line: wep:HEX, wpa-psk:HEX, wpa-pwd:PASSPHRASE:SSID. "
        "The environment variable WLANLENS_KEYS takes the same lines.",
    )
    on_command_line = click.option(
        "--key",
        metavar="KEY",
        multiple=True,
        help="One key (repeatable). All users of this machine can see it in the list of processes; prefer --key-file.",
    )
    return in_file(on_command_line(function))


def given(key_file: bytes | None, key: tuple[str, ...], *, quiet: bool = False) -> Keys:
    """All keys: from the file, the command line and the environment."""
    from wlanlens.capture import decryption_keys

    if key and not quiet:
        click.echo(
            "wlanlens: all users of this machine can see --key in the list of processes; --key-file FILE hides it",
            err=True,
        )
    found = decryption_keys.from_environment() + decryption_keys.Keys(key, origin="--key")
    return found + decryption_keys.from_file(key_file) if key_file is not None else found
