"""Arguments that name something wlanlens has: an unknown name gets the nearest known one, and shells complete them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem


class Name(click.ParamType[str]):
    """One of some fixed names.

    Parameters
    ----------
    kind : str
        What they name, for the message: "kind".
    known : iterable of str
        The names.
    """

    def __init__(self, kind: str, known: Iterable[str] = ()) -> None:
        self.name = kind
        self._known = tuple(known)

    def known(self) -> dict[str, str]:
        """The names, and one line about each."""
        return dict.fromkeys(self._known, "")

    def where(self) -> str:
        """Where all names are listed."""
        return f"expected one of {', '.join(self.known())}"

    def convert(self, value: Any, _param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if it is known; otherwise an error that names the nearest."""
        known = self.known()
        if value not in known:
            from wlanlens.errors import did_you_mean

            hint = did_you_mean(str(value), known, self.where())
            raise click.UsageError(f"unknown {self.name} {str(value)!r}; {hint}", ctx)
        return str(value)

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so."""
        return _items(self.known(), incomplete)


class UnitName(Name):
    """The name of a unit on a shelf."""

    def __init__(self, shelf: str) -> None:
        super().__init__(shelf.removesuffix("s"))
        self._shelf = shelf

    def known(self) -> dict[str, str]:
        """The units, and one line about each."""
        from wlanlens.registry import list_units

        return dict(list_units(self._shelf))

    def where(self) -> str:
        """The command that lists them."""
        return f"`wlanlens list {self._shelf}` lists them"


def _items(known: dict[str, str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=text) for name, text in known.items() if name.startswith(incomplete)]


def complete_setting(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """KEY= of KEY=VALUE: the parameters of the scenarios that the command line names, or of all."""
    from wlanlens.registry import units

    given = ctx.params.get("name") or ctx.params.get("scenarios") or ()
    named = {given} if isinstance(given, str) else set(given)
    keys: dict[str, str] = {}
    for name, unit in units("scenarios").items():
        if not named or name in named:
            fields = getattr(unit, "parameters", {})
            keys.update((f"{key}=", str(field.metadata.get("doc", ""))) for key, field in fields.items())
    return _items(keys, incomplete)


def complete_condition(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """A condition of `analyze --fail-on`."""
    severities = {"info": "any finding", "warning": "a warning or worse", "serious": "a serious finding"}
    return _items({**severities, "lost>20%": "share of the connection's life", **DETECTOR.known()}, incomplete)


DETECTOR, SCENARIO = UnitName("detectors"), UnitName("scenarios")
