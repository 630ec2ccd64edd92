"""Keys of encrypted networks on the command line: options that several subcommands share."""

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
        help="Keys of encrypted networks, one a line: wpa-pwd:PASSPHRASE:SSID, wep:HEX, wpa-psk:HEX. "
        "The environment variable WLANLENS_KEYS takes the same lines.",
    )
    in_words = click.option(
        "--key",
        metavar="KEY",
        multiple=True,
        help="One key; others see it in the list of processes. May be given again.",
    )
    return in_file(in_words(function))


def given(key_file: bytes | None, key: tuple[str, ...], *, quiet: bool = False) -> Keys:
    """The keys of file, command line and environment together."""
    from wlanlens.capture import decryption_keys

    if key and not quiet:
        click.echo(
            "wlanlens: every user of this machine can see a --key in the list of processes; --key-file FILE hides it",
            err=True,
        )
    found = decryption_keys.from_environment() + decryption_keys.Keys(key, origin="--key")
    return found + decryption_keys.from_file(key_file) if key_file is not None else found
