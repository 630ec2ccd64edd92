"""Options for a Dask cluster, shared by several subcommands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from wlanlens.pipeline.batch.cluster import Security


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --scheduler and the files of its certificates."""
    for name, metavar, text in (
        ("--tls-key", "FILE", "Private key of this client."),
        ("--tls-cert", "FILE", "Certificate of this client."),
        ("--tls-ca", "FILE", "Certificate authority of the cluster."),
        ("--scheduler", "ADDRESS", "Dask scheduler, tcp://HOST:PORT or tls://HOST:PORT, or local."),
    ):
        function = click.option(name, metavar=metavar, help=text)(function)
    return function


def security(ca: str | None, cert: str | None, key: str | None) -> Security | None:
    """The certificates, if they are given."""
    from wlanlens.pipeline.batch.cluster import Security

    if ca is None and cert is None and key is None:
        return None
    if ca is None or cert is None or key is None:
        raise click.UsageError("--tls-ca, --tls-cert and --tls-key belong together")
    return Security(ca, cert, key)


def warn_of_open(scheduler: str) -> None:
    """Print a warning about a scheduler that everyone can use."""
    from wlanlens.pipeline.batch.cluster import is_open

    if is_open(scheduler):
        click.echo(
            "wlanlens: everyone who reaches this scheduler can run programs on it and on this machine; use tls://",
            err=True,
        )
